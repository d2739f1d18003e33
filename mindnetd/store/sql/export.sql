Statements of the export. They read ranges of keys, the order in which rows are stored: a range of paths, or an order by
path, would make DuckDB go through every text again for each slice (measured in docs/decisions).

-- name: order
SELECT key, size FROM notes WHERE ? IS NULL OR key = ? ORDER BY key

-- name: files
SELECT path, mtime_ns, raw FROM notes WHERE key BETWEEN ? AND ?

-- name: notes
SELECT size, {columns} FROM notes WHERE key BETWEEN ? AND ?

-- name: chunks
SELECT note_key, id::VARCHAR, chunk_idx, section, start_line, end_line, tokens, text, content_hash
FROM chunks WHERE note_key BETWEEN ? AND ? ORDER BY note_key, chunk_idx

-- name: edges
SELECT e.owner, {columns} FROM edges e WHERE e.owner BETWEEN ? AND ? ORDER BY e.owner, e.id

-- name: canvas_edges
SELECT n.path, {columns} FROM edges e JOIN canvases n ON n.key = e.owner ORDER BY n.path, e.id

-- name: other_ends
WITH mine AS (SELECT * FROM edges WHERE ? IS NULL OR owner = ?),
     wanted AS (SELECT id FROM notes WHERE ? IS NULL OR key = ?),
     ends AS (
         SELECT src_id AS id, src_kind AS kind, NULL AS label FROM mine
         UNION ALL
         SELECT dst_id, dst_kind, dst_label FROM mine
     )
SELECT e.id::VARCHAR, min(e.kind), coalesce(min(n.path), min(c.path), min(e.label), '')
FROM ends e
LEFT JOIN notes n ON n.id = e.id
LEFT JOIN canvases c ON c.id = e.id
WHERE e.id NOT IN (SELECT id FROM wanted)
GROUP BY e.id
ORDER BY 2, 3, 1

-- name: parquet_notes
SELECT id::VARCHAR AS id, note_id, path, title, h1, from_json(aliases, '["VARCHAR"]') AS aliases,
       from_json(tags, '["VARCHAR"]') AS tags, type, status, visibility::VARCHAR AS visibility,
       from_json(flags, '["VARCHAR"]') AS flags, lang, created, modified, raw_hash AS sha256, body_hash,
       frontmatter_hash, full_hash, frontmatter::VARCHAR AS frontmatter, size
FROM notes WHERE {which}

-- name: parquet_chunks
SELECT id::VARCHAR AS id, note::VARCHAR AS note, chunk_idx AS idx, from_json(section, '["VARCHAR"]') AS section,
       start_line, end_line, tokens, content_hash, text
FROM chunks WHERE note_{which}

-- name: parquet_passages
SELECT chunk_id::VARCHAR AS chunk, idx, start_offset, end_offset, tokens, text_hash FROM passages WHERE note_{which}

-- name: parquet_edges
SELECT {columns} FROM edges e WHERE e.{owner}

-- name: parquet_embeddings
SELECT text_hash, fingerprint AS model, embedding FROM {table}
WHERE fingerprint = {fingerprint} AND text_hash IN (SELECT text_hash FROM passages WHERE note_{which})
