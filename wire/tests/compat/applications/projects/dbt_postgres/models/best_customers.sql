{{ config(materialized='materialized_view', indexes=[{'columns': ['customer_id'], 'unique': true}], on_configuration_change='apply') }}
select customer_id, name, rank() over (order by lifetime_value desc) as place from {{ ref('customers') }}
