{{ config(indexes=[{'columns': ['order_id'], 'unique': true}, {'columns': ['customer_id'], 'type': 'btree'}]) }}
{% set methods = ['card', 'coupon', 'transfer'] %}
with payments as (
    select order_id
        {% for method in methods %}, sum(case when method = '{{ method }}' then amount else 0 end) as {{ method }}_amount{% endfor %}
        , sum(amount) as amount
    from {{ ref('stg_payments') }}
    group by order_id
)
select o.*, {% for method in methods %}p.{{ method }}_amount, {% endfor %}p.amount
from {{ ref('stg_orders') }} o left join payments p using (order_id)
