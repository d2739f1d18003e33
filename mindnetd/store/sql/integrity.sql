Rules between tables: each statement returns the rows that break it.

-- name: two_notes_with_one_id_or_path
SELECT path FROM notes GROUP BY path HAVING count(*) > 1
UNION ALL
SELECT id::VARCHAR FROM notes GROUP BY id HAVING count(*) > 1

-- name: note_without_a_file
SELECT path FROM notes WHERE path NOT IN (SELECT path FROM files)

-- name: canvas_without_a_file
SELECT path FROM canvases WHERE path NOT IN (SELECT path FROM files)

-- name: file_twice
SELECT path FROM files GROUP BY path HAVING count(*) > 1

-- name: chunk_without_its_note
SELECT c.id FROM chunks c LEFT JOIN notes n ON n.key = c.note_key AND n.id = c.note WHERE n.key IS NULL

-- name: chunks_of_a_note_not_numbered_in_order
SELECT note FROM chunks GROUP BY note, note_key
HAVING count(*) <> max(chunk_idx) + 1 OR min(chunk_idx) <> 0 OR count(DISTINCT chunk_idx) <> count(*)

-- name: key_of_a_chunk_and_of_a_note
SELECT key FROM chunks WHERE key IN (SELECT key FROM notes UNION ALL SELECT key FROM canvases)

-- name: passage_without_its_chunk_or_note
SELECT p.chunk_id, p.idx
FROM passages p
LEFT JOIN chunks c ON c.key = p.owner AND c.id = p.chunk_id AND p.idx >= 0
LEFT JOIN notes n ON n.key = p.owner AND n.id = p.chunk_id AND p.idx = -1
WHERE c.key IS NULL AND n.key IS NULL

-- name: document_without_a_chunk_or_note
SELECT doc FROM lengths
WHERE (doc, note_key) NOT IN (SELECT key, note_key FROM chunks UNION ALL SELECT key, key FROM notes)

-- name: chunk_without_a_document
SELECT id FROM chunks WHERE key NOT IN (SELECT doc FROM lengths)

-- name: document_twice
SELECT doc FROM lengths GROUP BY doc HAVING count(*) > 1

-- name: posting_without_a_document_or_term
SELECT DISTINCT doc, term FROM postings
WHERE doc NOT IN (SELECT doc FROM lengths) OR term NOT IN (SELECT id FROM terms)

-- name: posting_twice
SELECT doc, term, field FROM postings GROUP BY doc, term, field HAVING count(*) > 1

-- name: term_twice
SELECT term FROM terms GROUP BY term HAVING count(*) > 1

-- name: link_without_its_note_or_canvas
SELECT DISTINCT owner FROM links WHERE owner NOT IN (SELECT key FROM notes UNION ALL SELECT key FROM canvases)

-- name: link_to_a_file_that_is_not_there
SELECT DISTINCT resolved FROM links WHERE resolved IS NOT NULL AND resolved NOT IN (SELECT path FROM files)

-- name: link_by_id_to_a_note_that_is_not_there
SELECT DISTINCT by_id FROM links
WHERE by_id IS NOT NULL AND by_id NOT IN (SELECT path FROM notes WHERE note_id IS NOT NULL)

-- name: edge_without_its_note_or_canvas
SELECT id FROM edges
WHERE (owner, note_id) NOT IN (SELECT key, id FROM notes UNION ALL SELECT key, id FROM canvases)

-- name: edge_to_a_note_that_is_not_there
-- a note that is excluded, a conflict copy, or one that cannot be read is in the vault, though not in the index
SELECT id FROM edges
WHERE dst_kind = 'note' AND dst_id NOT IN (SELECT id FROM notes) AND dst_label NOT IN (SELECT path FROM files)

-- name: edge_twice
SELECT id FROM edges GROUP BY id HAVING count(*) > 1

-- name: edge_less_hidden_than_an_end
SELECT e.id
FROM edges e
LEFT JOIN notes src ON src.key = e.owner
LEFT JOIN notes dst ON dst.id = e.dst_id
WHERE e.visibility <> greatest(coalesce(src.visibility, 'public'::visibility), coalesce(dst.visibility, 'public'::visibility))

-- name: diagnostic_without_its_note_or_canvas
SELECT DISTINCT path FROM diagnostics
WHERE owner IS NOT NULL AND owner NOT IN (SELECT key FROM notes UNION ALL SELECT key FROM canvases)

-- name: vector_twice
SELECT text_hash FROM embeddings GROUP BY text_hash, fingerprint HAVING count(*) > 1

-- name: signal_without_its_note_or_chunk
SELECT DISTINCT owner, chunk_key FROM note_signals
WHERE owner NOT IN (SELECT key FROM notes)
   OR (chunk_key <> owner AND (chunk_key, owner) NOT IN (SELECT key, note_key FROM chunks))

-- name: mention_without_its_chunk_or_note
SELECT DISTINCT chunk_id FROM entity_mentions
WHERE (chunk_key, note_key) NOT IN (SELECT key, note_key FROM chunks UNION ALL SELECT key, key FROM notes)

-- name: mention_of_an_entity_that_is_not_there
SELECT DISTINCT entity_id FROM entity_mentions WHERE (audience, entity_id) NOT IN (SELECT audience, id FROM entities)

-- name: mention_twice
SELECT entity_id, chunk_id FROM entity_mentions GROUP BY audience, entity_id, chunk_id HAVING count(*) > 1

-- name: entity_twice
SELECT id FROM entities GROUP BY audience, id HAVING count(*) > 1

-- name: relation_of_an_entity_that_is_not_there
SELECT id FROM relationships
WHERE (audience, source_id) NOT IN (SELECT audience, id FROM entities)
   OR (audience, target_id) NOT IN (SELECT audience, id FROM entities) OR source_id = target_id

-- name: relation_twice
SELECT id FROM relationships GROUP BY audience, id HAVING count(*) > 1

-- name: relation_mention_without_its_note
SELECT DISTINCT chunk_id FROM relationship_mentions
WHERE note_key NOT IN (SELECT key FROM notes)
   OR (audience, relationship_id) NOT IN (SELECT audience, id FROM relationships)
