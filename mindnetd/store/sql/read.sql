Statements of readers.

-- name: hot_passages
SELECT owner, note_key, idx < 0 AS is_title, text_hash FROM passages ORDER BY owner, idx

-- name: note_edges
SELECT src_id::VARCHAR AS src, dst_id::VARCHAR AS dst, relation, source, weight::FLOAT AS weight FROM edges
WHERE src_kind = 'note' AND dst_kind = 'note'

-- name: vector_places
SELECT rowid AS place, text_hash, fingerprint = ? AND text_hash IN (SELECT text_hash FROM passages) AS wanted
FROM {table} ORDER BY rowid

-- name: vectors_of
SELECT rowid, text_hash FROM {table}
WHERE fingerprint = ? AND text_hash IN (SELECT unnest(string_split(?, ' ')))
ORDER BY rowid

-- name: canvases
SELECT key, id::VARCHAR, path, raw_hash FROM canvases ORDER BY key

-- name: note_diagnostics
SELECT code, message, line FROM diagnostics WHERE owner = ? ORDER BY ord

-- name: note_passages
SELECT owner, text_hash FROM passages WHERE note_key = ? AND idx >= 0 ORDER BY owner, idx

-- name: backlinks
SELECT l.owner, coalesce(n.path, c.path) AS path, l.line, l.relation
FROM links l
LEFT JOIN notes n ON n.key = l.owner
LEFT JOIN canvases c ON c.key = l.owner
WHERE coalesce(l.by_id, l.resolved) = ? AND l.kind <> 'url'
ORDER BY path, l.line NULLS FIRST, l.ord

-- name: doubtful_links
SELECT DISTINCT owner FROM links
WHERE ambiguous OR (resolved IS NOT NULL AND resolved NOT IN (SELECT path FROM files))

-- name: edges_around
WITH around AS (SELECT unnest(string_split(?, ' '))::UUID AS id)
SELECT owner, visibility, id::VARCHAR, src_id::VARCHAR, dst_id::VARCHAR, src_kind, dst_kind, dst_label, relation, scope,
       source, weight, occurrences, evidence, line, resolved_by
FROM edges
WHERE {where} AND (len(?::VARCHAR[]) = 0 OR relation IN (SELECT unnest(?::VARCHAR[])))
ORDER BY src_id, relation, dst_id, id
LIMIT ?

-- name: edge_counts
WITH hidden AS (SELECT id::UUID AS id FROM (SELECT unnest(string_split(?, ' ')) AS id) WHERE id <> ''),
     without AS (SELECT id::UUID AS id FROM (SELECT unnest(string_split(?, ' ')) AS id) WHERE id <> '')
SELECT relation, source, count(*) FROM edges
WHERE src_id NOT IN (SELECT id FROM hidden) AND dst_id NOT IN (SELECT id FROM hidden)
  AND src_id NOT IN (SELECT id FROM without)
GROUP BY relation, source ORDER BY relation, source

-- name: backlink_count
WITH hidden AS (SELECT id::UUID AS id FROM (SELECT unnest(string_split(?, ' ')) AS id) WHERE id <> ''),
     without AS (SELECT id::UUID AS id FROM (SELECT unnest(string_split(?, ' ')) AS id) WHERE id <> '')
SELECT count(*) FROM structural_edges
WHERE relation = 'backlink' AND src_id NOT IN (SELECT id FROM hidden) AND dst_id NOT IN (SELECT id FROM hidden)
  AND dst_id NOT IN (SELECT id FROM without)

-- name: unresolved_count
WITH hidden AS (SELECT id::UUID AS id FROM (SELECT unnest(string_split(?, ' ')) AS id) WHERE id <> '')
SELECT count(DISTINCT dst_id) FROM edges
WHERE dst_kind = 'unresolved' AND src_id NOT IN (SELECT id FROM hidden)

-- name: unresolved
SELECT l.owner, coalesce(n.path, c.path) AS path, l.kind, l.raw, l.target, l.heading, l.block, l.display, l.line,
       l.property, l.in_comment, l.relation
FROM links l
LEFT JOIN notes n ON n.key = l.owner
LEFT JOIN canvases c ON c.key = l.owner
WHERE l.resolved IS NULL AND l.by_id IS NULL AND l.kind <> 'url'
ORDER BY path, l.ord

-- name: runs
SELECT id, trigger, started, config_hash, ended, vault_repo, vault_commit, files_seen, files_changed, files_failed,
       chunks, edges, embeddings_made, embeddings_reused, errors
FROM import_runs ORDER BY started DESC, id DESC LIMIT ? OFFSET ?

-- name: run
SELECT id, trigger, started, config_hash, ended, vault_repo, vault_commit, files_seen, files_changed, files_failed,
       chunks, edges, embeddings_made, embeddings_reused, errors
FROM import_runs WHERE id = ?

-- name: diagnostics
SELECT path, owner, code, message, line FROM diagnostics
WHERE ? OR owner IN (SELECT unnest(?::INTEGER[]))
ORDER BY path, ord

-- name: query_log
SELECT id, "timestamp", query, filters, top_k, took_ms, decision_trace FROM query_log ORDER BY "timestamp" DESC, id DESC LIMIT ? OFFSET ?

-- name: embeddings_total
SELECT coalesce((SELECT sum(embeddings_made) FROM import_runs), 0)
           + coalesce((SELECT value::BIGINT FROM meta WHERE key = 'forgotten_made'), 0),
       coalesce((SELECT sum(embeddings_reused) FROM import_runs), 0)
           + coalesce((SELECT value::BIGINT FROM meta WHERE key = 'forgotten_reused'), 0)
