"""``JobID``, under the module that PyFlink has it in."""

from flinkish.pyflink.common.job_client import JobID as JobID

__all__ = ["JobID"]
