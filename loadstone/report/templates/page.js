{% include "sort.js" %}
{% include "scroll.js" %}
{% include "zoom.js" %}
