"""Files of Parquet in which single columns are damaged, so that reading one of these is found out."""

from __future__ import annotations

from pathlib import Path

from pyarrow import parquet


def write(path, table, **options):
    """Write ``table`` with checksums of its pages."""
    parquet.write_table(
        table, path, write_page_checksum=True, use_dictionary=False, compression="none", **options
    )


def damage(path, *columns):
    """Change the last value of each row group in ``columns``."""
    metadata = parquet.read_metadata(path)
    data = bytearray(Path(path).read_bytes())
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(number)
            if chunk.path_in_schema.split(".")[0] in columns:
                data[chunk.data_page_offset + chunk.total_compressed_size - 1] ^= 0xFF
    Path(path).write_bytes(data)


def undamaged(path, names):
    """Return the columns among ``names`` that can be read."""
    readable = []
    for name in names:
        try:
            parquet.ParquetFile(path, page_checksum_verification=True).read(columns=[name])
        except OSError:
            continue
        readable.append(name)
    return readable
