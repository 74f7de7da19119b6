{{ config(materialized='incremental', unique_key='day', on_schema_change='append_new_columns') }}
select ordered_at as day, count(*) as orders, sum(amount) as amount
from {{ ref('orders') }}
{% if is_incremental() %}where ordered_at >= (select max(day) from {{ this }}){% endif %}
group by 1
