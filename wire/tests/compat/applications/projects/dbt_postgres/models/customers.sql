{{ config(contract={'enforced': true}) }}
select c.customer_id, c.first_name || ' ' || c.last_name as name, min(o.ordered_at) as first_order, count(o.order_id)::integer as orders,
       coalesce(sum(o.amount), 0)::numeric(12,2) as lifetime_value
from {{ ref('stg_customers') }} c left join {{ ref('orders') }} o using (customer_id)
group by 1, 2
