"""Atlas's expressions: compiled once to functions of a document, which run for each."""

from flinkish.compat.atlas.expressions import arithmetic as arithmetic
from flinkish.compat.atlas.expressions import arrays as arrays
from flinkish.compat.atlas.expressions import conversions as conversions
from flinkish.compat.atlas.expressions import dates as dates
from flinkish.compat.atlas.expressions import strings as strings
