"""PyFlink's DataStream API on flinkish: a PyFlink job runs with its imports changed to ``flinkish.pyflink``.

The modules, names, signatures and defaults are those of PyFlink 2.2. This package only translates
names, types, functions and contexts; it may import ``runtime`` and ``api``, which do the work.
"""

import sys

from flinkish.pyflink.absent import AbsentModules

sys.meta_path.append(AbsentModules())
