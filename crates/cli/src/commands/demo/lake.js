document.querySelectorAll("tr[data-summer]").forEach(function (row) { row.title = "a " + row.dataset.summer + " summer"; });
