What communities are rebuilt from, and the last ones.

-- name: notes
SELECT key, CASE visibility::VARCHAR WHEN 'public' THEN 0 WHEN 'internal' THEN 1 ELSE 2 END,
       json_array_length(flags) > 0, lang
FROM notes ORDER BY key

-- name: chunks
SELECT key, ('0x' || substr(content_hash, 1, 16))::UBIGINT AS mark, note_key, chunk_idx = 0 AS first
FROM chunks ORDER BY key

-- name: rows
SELECT id::VARCHAR, label, level, parent::VARCHAR, title, summary, summary_source, members_hash, texts_hash,
       visibility::VARCHAR, updated
FROM communities ORDER BY visibility, level, label, id

-- name: members
SELECT community_id::VARCHAR, entity_id::VARCHAR FROM community_members ORDER BY community_id, entity_id::VARCHAR

-- name: sources
SELECT community_id::VARCHAR, chunk_id::VARCHAR, chunk_key, sentence FROM community_sources ORDER BY community_id, ord
