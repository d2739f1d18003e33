Statements of the writer, all inside the batch's transaction.

-- name: staging_notes
CREATE TEMP TABLE IF NOT EXISTS staging_notes AS SELECT * EXCLUDE (raw) FROM notes LIMIT 0

-- name: notes_with_raw
INSERT INTO notes BY NAME
SELECT staged.*, given.raw FROM staging_notes staged JOIN (VALUES {marks}) given(key, raw) USING (key)

-- name: settle_edges
UPDATE edges SET visibility = settled.visibility
FROM (SELECT e.id, e.owner,
             greatest(coalesce(src.visibility, 'public'::visibility), coalesce(dst.visibility, 'public'::visibility)) AS visibility
      FROM edges e
      LEFT JOIN notes src ON src.key = e.owner
      LEFT JOIN notes dst ON dst.id = e.dst_id
      WHERE e.owner IN ({owners}) OR e.dst_id IN (SELECT id::VARCHAR::UUID FROM touched)) settled
WHERE edges.owner = settled.owner AND edges.id = settled.id AND edges.visibility <> settled.visibility

-- name: known_terms
SELECT incoming.j, terms.id
FROM (SELECT j, term::VARCHAR AS term, md5_number_lower(term::VARCHAR) AS hash FROM incoming) incoming
JOIN terms ON terms.hash = incoming.hash AND terms.term = incoming.term

-- name: insert_terms
INSERT INTO terms SELECT id, md5_number_lower(term::VARCHAR), term::VARCHAR FROM incoming

-- name: create_vectors
CREATE TABLE IF NOT EXISTS {table} (
    text_hash VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    embedding FLOAT[{dim}] NOT NULL,
    unused_since TIMESTAMP
)

-- name: insert_vectors
INSERT INTO {table} (text_hash, fingerprint, embedding)
SELECT incoming.text_hash::VARCHAR, ?, rows.embedding
FROM incoming
JOIN (SELECT i, list(x ORDER BY j)::FLOAT[{dim}] AS embedding FROM numbers GROUP BY i) rows USING (i)
WHERE NOT EXISTS (SELECT 1 FROM {table} have WHERE have.text_hash = incoming.text_hash AND have.fingerprint = ?)

-- name: insert_run
INSERT INTO import_runs (id, trigger, started, ended, config_hash, vault_repo, vault_commit, files_seen, files_changed,
    files_failed, chunks, edges, embeddings_made, embeddings_reused, errors)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_config
INSERT INTO configs SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM configs WHERE config_hash = ?)

-- name: insert_query
INSERT INTO query_log (id, "timestamp", query, filters, top_k, took_ms, decision_trace) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: trim_runs
DELETE FROM import_runs WHERE ended < ?
AND id NOT IN (SELECT import_run_id FROM notes UNION ALL SELECT import_run_id FROM edges)
AND started < (SELECT max(started) FROM import_runs)

-- name: trim_configs
DELETE FROM configs WHERE config_hash NOT IN (SELECT config_hash FROM import_runs)
