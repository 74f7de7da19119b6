select id as customer_id, first_name, last_name, changed_at from {{ ref('raw_customers') }}
