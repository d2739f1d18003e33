Statements about the graph as a whole.

-- name: linked_notes
WITH hidden AS (SELECT id::UUID AS id FROM (SELECT unnest(string_split(?, ' ')) AS id) WHERE id <> ''),
     pairs AS (
         SELECT src_id, dst_id FROM edges
         WHERE src_kind = 'note' AND dst_kind = 'note' AND src_id <> dst_id
           AND src_id IN (SELECT id FROM notes) AND dst_id IN (SELECT id FROM notes)
           AND src_id NOT IN (SELECT id FROM hidden) AND dst_id NOT IN (SELECT id FROM hidden)
     )
SELECT src_id::VARCHAR FROM pairs UNION SELECT dst_id::VARCHAR FROM pairs

-- name: missing_names
WITH hidden AS (SELECT id::UUID AS id FROM (SELECT unnest(string_split(?, ' ')) AS id) WHERE id <> '')
SELECT DISTINCT dst_label FROM edges
WHERE dst_kind = 'unresolved' AND src_id NOT IN (SELECT id FROM hidden)

-- name: owners_linking
SELECT DISTINCT owner FROM links
WHERE kind <> 'url' AND coalesce(by_id, resolved) IN (SELECT unnest(?::VARCHAR[]))
ORDER BY owner
