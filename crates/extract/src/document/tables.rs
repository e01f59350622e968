//! Which tables hold data, and how many columns they have. Tables that arrange a page are no tables.

use varve_page::dom::HtmlTree;

/// Maximum number of columns of a table that is written as one.
const MAX_TABLE_COLUMNS: usize = 64;

/// The number of columns of a table with data. `None` if the table only arranges a page: another
/// table is in it, or it has one column.
pub(super) fn columns(tree: &HtmlTree, table: usize) -> Option<usize> {
    let end = tree.nodes()[table].end;
    let mut most = 0;
    let mut row = 0;
    for node in table + 1..end {
        match tree.nodes()[node].name() {
            Some("table") => return None,
            Some("tr") => row = 0,
            Some("td" | "th") => {
                row += 1;
                most = most.max(row);
            }
            _ => {}
        }
    }
    (2..=MAX_TABLE_COLUMNS).contains(&most).then_some(most)
}
