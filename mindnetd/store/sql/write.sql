Statements of the writer, all inside the batch's transaction.

-- name: visibilities
SELECT id::VARCHAR, visibility FROM notes WHERE id IN (SELECT unnest(string_split(?, ' '))::UUID)

-- name: settle_incoming
UPDATE edges SET visibility = settled.visibility
FROM (SELECT e.id, e.owner,
             greatest(coalesce(src.visibility, 'public'::visibility), coalesce(dst.visibility, 'public'::visibility)) AS visibility
      FROM edges e
      LEFT JOIN notes src ON src.key = e.owner
      LEFT JOIN notes dst ON dst.id = e.dst_id
      WHERE e.dst_id IN (SELECT unnest(string_split(?, ' '))::UUID)) settled
WHERE edges.owner = settled.owner AND edges.id = settled.id AND edges.visibility <> settled.visibility

-- name: known_terms
SELECT asked.j, terms.id
FROM (SELECT row_number() OVER () - 1 AS j, term, md5_number_lower(term) AS hash FROM ({select})) asked
JOIN terms ON terms.hash = asked.hash AND terms.term = asked.term

-- name: insert_terms
INSERT INTO terms SELECT id, md5_number_lower(term), term FROM ({select})

-- name: create_vectors
CREATE TABLE IF NOT EXISTS {table} (
    text_hash VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    embedding FLOAT[{dim}] NOT NULL,
    unused_since TIMESTAMP
)

-- name: insert_vectors
INSERT INTO {table} (text_hash, fingerprint, embedding)
SELECT asked.text_hash, asked.fingerprint, made.embedding
FROM (SELECT i::INTEGER AS i, text_hash, fingerprint FROM ({select})) asked
JOIN (SELECT i, list(x ORDER BY j)::FLOAT[{dim}] AS embedding FROM numbers GROUP BY i) made USING (i)
WHERE NOT EXISTS (SELECT 1 FROM {table} have
                  WHERE have.text_hash = asked.text_hash AND have.fingerprint = asked.fingerprint)

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
RETURNING embeddings_made, embeddings_reused

-- name: trim_configs
DELETE FROM configs WHERE config_hash NOT IN (SELECT config_hash FROM import_runs)
