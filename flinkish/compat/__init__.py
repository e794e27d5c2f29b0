"""The words of other systems for what flinkish does with time: one module a system.

Each is a thin layer over the primitives of ``flinkish`` itself and can be mixed with them: streams
go in and streams come out. Nothing here is imported unless it is asked for.
"""
