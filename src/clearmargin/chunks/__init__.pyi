from .chunk_summary import (
    ChunkRules as ChunkRules,
)
from .chunk_summary import (
    ChunkSummary as ChunkSummary,
)
from .chunk_summary import (
    chunks_schema as chunks_schema,
)
from .chunked_svc import (
    ChunkedRuleSVC as ChunkedRuleSVC,
)

__all__ = ["ChunkRules", "ChunkSummary", "ChunkedRuleSVC", "chunks_schema"]
