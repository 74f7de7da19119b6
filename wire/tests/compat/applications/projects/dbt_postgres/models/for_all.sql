select customer_id, name from {{ ref('customers') }}
