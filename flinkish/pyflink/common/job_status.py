"""``JobStatus``, under the module that PyFlink has it in."""

from flinkish.pyflink.common.job_client import JobStatus as JobStatus

__all__ = ["JobStatus"]
