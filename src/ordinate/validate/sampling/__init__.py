"""From a request to a sample: the prompt is made, the backend asked, and what it says judged."""

from ordinate.validate.sampling.counting import counter
from ordinate.validate.sampling.material import Material
from ordinate.validate.sampling.sampler import Sampler

__all__ = ["Material", "Sampler", "counter"]
