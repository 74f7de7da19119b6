{{ config(materialized='ephemeral') }}
select customer_id from {{ ref('customers') }} where orders = 0
