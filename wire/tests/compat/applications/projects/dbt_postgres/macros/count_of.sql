{% macro count_of(model) %}
  {% set found = run_query("select count(*) from " ~ ref(model)) %}
  {{ log("COUNT " ~ found.columns[0].values()[0], info=true) }}
{% endmacro %}
