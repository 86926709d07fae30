{% include "sort.js" %}
{% include "zoom.js" %}
