Statements of the export. Everything is ordered by path and place, never by key, so that equal vaults give equal exports.

-- name: order
SELECT path, size FROM notes WHERE ? IS NULL OR key = ? ORDER BY path

-- name: files
SELECT path, mtime_ns, raw FROM notes WHERE path BETWEEN ? AND ? ORDER BY path

-- name: notes
SELECT size, {columns} FROM notes WHERE path BETWEEN ? AND ? ORDER BY path

-- name: chunks
SELECT c.note_key, c.id::VARCHAR, c.chunk_idx, c.section, c.start_line, c.end_line, c.tokens, c.text, c.content_hash
FROM chunks c JOIN notes n ON n.key = c.note_key
WHERE n.path BETWEEN ? AND ?
ORDER BY n.path, c.chunk_idx

-- name: edges
SELECT e.owner, {columns}
FROM edges e JOIN notes n ON n.key = e.owner
WHERE n.path BETWEEN ? AND ?
ORDER BY n.path, e.id

-- name: canvas_edges
SELECT e.owner, {columns}
FROM edges e JOIN canvases n ON n.key = e.owner
ORDER BY n.path, e.id

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
FROM notes WHERE {which} ORDER BY path

-- name: parquet_chunks
SELECT c.id::VARCHAR AS id, c.note::VARCHAR AS note, n.path, c.chunk_idx AS idx,
       from_json(c.section, '["VARCHAR"]') AS section, c.start_line, c.end_line, c.tokens, c.content_hash, c.text
FROM chunks c JOIN notes n ON n.key = c.note_key
WHERE n.{which} ORDER BY n.path, c.chunk_idx

-- name: parquet_edges
SELECT coalesce(n.path, c.path) AS path, {columns}
FROM edges e LEFT JOIN notes n ON n.key = e.owner LEFT JOIN canvases c ON c.key = e.owner
WHERE e.{owner} ORDER BY coalesce(n.path, c.path), e.id

-- name: parquet_embeddings
SELECT n.path, p.chunk_id::VARCHAR AS chunk, p.idx, p.text_hash, e.fingerprint AS model, e.embedding
FROM passages p JOIN notes n ON n.key = p.note_key JOIN {table} e ON e.text_hash = p.text_hash
WHERE n.{which} AND e.fingerprint = {fingerprint}
ORDER BY n.path, p.chunk_id, p.idx
