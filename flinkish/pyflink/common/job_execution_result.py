"""``JobExecutionResult``, under the module that PyFlink has it in."""

from flinkish.pyflink.common.job_client import JobExecutionResult as JobExecutionResult

__all__ = ["JobExecutionResult"]
