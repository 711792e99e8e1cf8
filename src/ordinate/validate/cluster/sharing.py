"""How a cluster's machines are shared among workers."""

from collections.abc import Mapping, Sequence

from ordinate.errors import Unavailable, positive_integer
from ordinate.validate.opening import Opening


def share(
    opening: Opening, nodes: Sequence[Mapping[str, float]], workers: int | None = None
) -> tuple[dict[str, int], int]:
    """What one worker takes of the cluster, and how many there are to be.

    A model on graphics cards takes one of these; a model on processors as many cores as it has threads, or all of a
    machine (fewer where more workers are asked for); a server's client a core of each machine, a simulated reader one.

    Args:
        opening: what answers
        nodes: the resources of each machine, as Ray names them
        workers: as many as are wanted; None: as many as there is room for

    Raises:
        InputError: no number of workers
        Unavailable: there is no room for them

    >>> share(Opening(source="MODEL", device="cuda"), [{"CPU": 32.0, "GPU": 8.0}, {"CPU": 32.0, "GPU": 8.0}])
    ({'num_cpus': 1, 'num_gpus': 1}, 16)
    >>> share(Opening(source="MODEL"), [{"CPU": 32.0}, {"CPU": 16.0}], workers=4)
    ({'num_cpus': 8}, 4)
    """
    wanted = None if workers is None else positive_integer("workers", workers)
    cores = [int(node["CPU"]) for node in nodes if node.get("CPU", 0) >= 1]
    each = {"num_cpus": 1}
    if (opening.device or "").startswith("cuda"):
        each["num_gpus"] = 1
        most = offered = sum(int(node.get("GPU", 0)) for node in nodes)
    elif opening.kind == "simulated":
        most = offered = sum(cores)
    elif opening.threads is not None:
        each["num_cpus"] = positive_integer("threads", opening.threads)
        most = offered = sum(number // each["num_cpus"] for number in cores)
    else:
        offered = len(cores)
        most = offered if opening.kind == "llama_cpp" else sum(cores)
        if cores and opening.kind != "server":
            side_by_side = -(-(wanted or offered) // offered) if opening.kind == "transformers" else 1
            each["num_cpus"] = max(1, min(cores) // side_by_side)
    if not offered or (wanted or 0) > most:
        raise Unavailable(
            f"the cluster must have room for {wanted or 1} workers with {written(each)} each, got room for {most}"
        )
    return each, wanted or offered


def written(share: Mapping[str, int]) -> str:
    """In words.

    >>> written({"num_cpus": 1, "num_gpus": 1})
    '1 CPU and 1 GPU'
    """
    names = {"num_cpus": "CPU", "num_gpus": "GPU"}
    return " and ".join(f"{number} {names[name]}" for name, number in share.items())
