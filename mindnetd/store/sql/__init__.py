"""The SQL of the store: numbered migrations (``NNNN_*.sql``) and named statements (``*.sql``)."""
