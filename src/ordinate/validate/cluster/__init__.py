"""Runs on more machines than one: workers with a backend each answer the requests of one run."""

from ordinate.validate.cluster.base import Cluster

__all__ = ["Cluster"]
