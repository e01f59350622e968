//! A diff as one self-contained HTML file: both sides by lines, and tables for headers and nodes.
//!
//! Owns the markup. The text comes from archived pages and is hostile: everything is escaped, links
//! lead only to anchors of the file, there is no script, and a Content-Security-Policy forbids to
//! load anything. Each change links to the next and the previous one, for use by keyboard.

use super::unified::{DiffStyle, Hunk, HunkLine, LineSide, NO_NEWLINE_NOTE, side_by_side};
use std::fmt::Write as _;

/// The content around the lines.
#[derive(Debug, Clone, Default)]
pub struct DiffPage<'a> {
    /// The heading.
    pub title: &'a str,
    /// The name of the base.
    pub base: &'a str,
    /// The name of the head.
    pub head: &'a str,
    /// Sentences below the heading.
    pub notes: Vec<String>,
    /// Tables above the lines.
    pub tables: Vec<Table>,
}

/// Changes that are not lines: headers, nodes.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The heading of the table.
    pub title: String,
    /// The rows.
    pub rows: Vec<DiffRow>,
}

/// One change.
#[derive(Debug, Clone, Default)]
pub struct DiffRow {
    /// The kind of change.
    pub what: String,
    /// The name of what changed.
    pub place: String,
    /// The old value.
    pub from: String,
    /// The new value.
    pub to: String,
    /// The rule that explains it as noise.
    pub noise: Option<String>,
}

const PAGE_STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--removed:#ffd7d5;--added:#ccffd8;--mark-removed:#ff8182;--mark-added:#4ac26b}\
@media(prefers-color-scheme:dark){:root{--removed:#67060c66;--added:#0f532366;--mark-removed:#b62324;--mark-added:#238636}}\
body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem auto;padding:0 1rem;max-width:110rem}\
table{border-collapse:collapse;width:100%;table-layout:fixed;margin:.5rem 0 1.5rem}\
th,td{text-align:left;vertical-align:top;padding:.1rem .5rem;border:1px solid var(--line);overflow-wrap:anywhere}\
.lines td{font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap;tab-size:4;border-width:0 1px}\
.lines .number{width:4.5em;text-align:right;opacity:.6;user-select:none}\
.removed{background:var(--removed)}.added{background:var(--added)}\
del,ins{text-decoration:underline;border-radius:2px}del{background:var(--mark-removed)}ins{background:var(--mark-added)}\
section h1{font-size:1.4rem;overflow-wrap:anywhere}.noise{opacity:.6}h2:target,h2:focus-within{outline:2px solid}h2{font-size:1rem;margin:1rem 0 .3rem}";

/// Writes a page about one comparison.
pub fn page(page: &DiffPage<'_>, hunks: &[Hunk<'_>]) -> String {
    open(page.title) + &section(page, hunks, 1) + PAGE_END
}

/// The beginning of a page about many comparisons: perhaps [`contents`], then [`section`]s and
/// [`PAGE_END`].
pub fn open(title: &str) -> String {
    let mut html = String::new();
    html += "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n";
    html += "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";
    html += "<meta name=\"viewport\" content=\"width=device-width\">\n<title>";
    escape(&mut html, title);
    html += "</title>\n<style>";
    html += PAGE_STYLE;
    html += "</style>\n";
    html
}

/// The end of every page.
pub const PAGE_END: &str = "</html>\n";

/// A heading and sentences, above sections or below them.
pub fn heading(title: &str, notes: &[String]) -> String {
    let mut html = String::new();
    element(&mut html, "h1", title);
    html.push('\n');
    for note in notes {
        element(&mut html, "p", note);
        html.push('\n');
    }
    html
}

/// One comparison among others; `number` is its own.
pub fn section(page: &DiffPage<'_>, hunks: &[Hunk<'_>], number: usize) -> String {
    let mut html = format!("<section id=\"page-{number}\">\n");
    html += &heading(page.title, &page.notes);
    for table in page.tables.iter().filter(|table| !table.rows.is_empty()) {
        write_table(&mut html, table);
    }
    for (place, hunk) in hunks.iter().enumerate() {
        write_hunk(&mut html, page, hunk, (number, place + 1, hunks.len()));
    }
    if hunks.last().is_some_and(|hunk| hunk.cut) {
        html += "<p>There are more lines than are shown.</p>\n";
    }
    html += "</section>\n";
    html
}

/// Links to the sections, which have these titles.
pub fn contents<'t>(titles: impl IntoIterator<Item = &'t str>) -> String {
    let mut html = "<nav id=\"pages\">\n<h2>Pages</h2>\n<ol>\n".to_owned();
    let mut titles = titles.into_iter().enumerate().peekable();
    if titles.peek().is_none() {
        return "<p>No page changed.</p>\n".to_owned();
    }
    for (place, title) in titles {
        let _ = write!(html, "<li><a href=\"#page-{}\">", place + 1);
        escape(&mut html, title);
        html += "</a></li>\n";
    }
    html += "</ol>\n</nav>\n";
    html
}

/// A list of pages without a section. Empty if there are none.
pub fn list<'t>(title: &str, lines: impl IntoIterator<Item = &'t str>) -> String {
    let mut html = String::new();
    for line in lines {
        element(&mut html, "li", line);
        html.push('\n');
    }
    if html.is_empty() {
        return html;
    }
    let mut whole = String::new();
    element(&mut whole, "h2", title);
    whole + "\n<ul>\n" + &html + "</ul>\n"
}

fn write_table(html: &mut String, table: &Table) {
    element(html, "h2", &table.title);
    *html += "\n<table>\n<tr><th scope=\"col\">change</th><th scope=\"col\">where</th>";
    *html += "<th scope=\"col\">before</th><th scope=\"col\">after</th></tr>\n";
    for row in &table.rows {
        *html += if row.noise.is_some() { "<tr class=\"noise\">" } else { "<tr>" };
        let what = match &row.noise {
            Some(rule) => format!("{} (noise: {rule})", row.what),
            None => row.what.clone(),
        };
        for cell in [&what, &row.place] {
            element(html, "td", cell);
        }
        for (cell, class) in [(&row.from, "removed"), (&row.to, "added")] {
            if cell.is_empty() {
                *html += "<td></td>";
            } else {
                let _ = write!(html, "<td class=\"{class}\">");
                escape(html, cell);
                *html += "</td>";
            }
        }
        *html += "</tr>\n";
    }
    *html += "</table>\n";
}

fn write_hunk(
    html: &mut String,
    page: &DiffPage<'_>,
    hunk: &Hunk<'_>,
    (section, number, count): (usize, usize, usize),
) {
    let _ = write!(html, "<h2 id=\"page-{section}-change-{number}\">Change {number} of {count}");
    for (other, word) in [(number - 1, "previous"), (number + 1, "next")] {
        if (1..=count).contains(&other) {
            let _ = write!(html, " <a href=\"#page-{section}-change-{other}\">{word}</a>");
        }
    }
    *html += "</h2>\n<table class=\"lines\">\n<tr>";
    for side in [page.base, page.head] {
        *html += "<th class=\"number\" scope=\"col\">line</th><th scope=\"col\">";
        escape(html, side);
        *html += "</th>";
    }
    *html += "</tr>\n";
    for [base, head] in side_by_side(&hunk.lines) {
        *html += "<tr>";
        write_cell(html, base, HunkLine::base_side, "del");
        write_cell(html, head, HunkLine::head_side, "ins");
        *html += "</tr>\n";
    }
    *html += "</table>\n";
}

/// Writes one side of a row, with its own bytes. `mark` is the element for what differs.
fn write_cell<'l, 'a>(
    html: &mut String,
    line: Option<&'l HunkLine<'a>>,
    side: impl Fn(&'l HunkLine<'a>) -> Option<LineSide<'l>>,
    mark: &str,
) {
    let Some((line, side)) = line.and_then(|line| Some((line, side(line)?))) else {
        *html += "<td class=\"number\"></td><td></td>";
        return;
    };
    let class = match line.style {
        DiffStyle::Context => "",
        DiffStyle::Removed => "removed",
        DiffStyle::Added => "added",
    };
    let _ = write!(html, "<td class=\"number\">{}</td><td", side.number);
    match line.noise {
        Some(rule) => {
            let space = if class.is_empty() { "" } else { " " };
            let _ = write!(html, " class=\"{class}{space}noise\" title=\"noise: {rule}\"");
        }
        None if class.is_empty() => {}
        None => {
            let _ = write!(html, " class=\"{class}\"");
        }
    }
    html.push('>');
    for segment in side.segments {
        if segment.emphasis {
            element(html, mark, &segment.text);
        } else {
            escape(html, &segment.text);
        }
    }
    if let Some(rule) = line.noise {
        let _ = write!(html, " <small>noise: {rule}</small>");
    }
    if side.unended {
        let _ = write!(html, "\n<small>{NO_NEWLINE_NOTE}</small>");
    }
    *html += "</td>";
}

fn element(html: &mut String, name: &str, text: &str) {
    let _ = write!(html, "<{name}>");
    escape(html, text);
    let _ = write!(html, "</{name}>");
}

/// Escapes text. Control characters become visible, so that they cannot hide a change.
fn escape(html: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '&' => *html += "&amp;",
            '<' => *html += "&lt;",
            '>' => *html += "&gt;",
            '"' => *html += "&quot;",
            '\'' => *html += "&#39;",
            '\t' | '\n' => html.push(letter),
            _ if letter.is_control() || is_direction(letter) => {
                let _ = write!(html, "\\u{{{:x}}}", u32::from(letter));
            }
            _ => html.push(letter),
        }
    }
}

/// Control characters for the direction of text, which can make text look different.
const fn is_direction(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::super::{DiffView, LineOptions, TextDiff, unified};
    use super::*;

    fn sample(base: &str, head: &str) -> String {
        let diff = TextDiff::between(base, head, LineOptions::default());
        let row =
            DiffRow { what: "changed".into(), place: "csp".into(), from: "<a>".into(), ..DiffRow::default() };
        let tables = vec![Table { title: "Headers".into(), rows: vec![row] }];
        let about =
            DiffPage { title: "a & b", base: "one", head: "two", notes: vec!["2 < 3".into()], tables };
        page(&about, &unified(&diff, &DiffView { context: 1, ..DiffView::default() }))
    }

    #[test]
    fn both_sides_stand_beside_each_other() {
        let html = sample("a\n<p>one two</p>\nb\nc\nd\ne\n", "a\n<p>one 2</p>\nb\nc\nd\ne\nf\n")
            .replace(PAGE_STYLE, "…");
        insta::assert_snapshot!(html, @r##"
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <meta name="viewport" content="width=device-width">
        <title>a &amp; b</title>
        <style>…</style>
        <section id="page-1">
        <h1>a &amp; b</h1>
        <p>2 &lt; 3</p>
        <h2>Headers</h2>
        <table>
        <tr><th scope="col">change</th><th scope="col">where</th><th scope="col">before</th><th scope="col">after</th></tr>
        <tr><td>changed</td><td>csp</td><td class="removed">&lt;a&gt;</td><td></td></tr>
        </table>
        <h2 id="page-1-change-1">Change 1 of 2 <a href="#page-1-change-2">next</a></h2>
        <table class="lines">
        <tr><th class="number" scope="col">line</th><th scope="col">one</th><th class="number" scope="col">line</th><th scope="col">two</th></tr>
        <tr><td class="number">1</td><td>a</td><td class="number">1</td><td>a</td></tr>
        <tr><td class="number">2</td><td class="removed">&lt;p&gt;one <del>two</del>&lt;/p&gt;</td><td class="number">2</td><td class="added">&lt;p&gt;one <ins>2</ins>&lt;/p&gt;</td></tr>
        <tr><td class="number">3</td><td>b</td><td class="number">3</td><td>b</td></tr>
        </table>
        <h2 id="page-1-change-2">Change 2 of 2 <a href="#page-1-change-1">previous</a></h2>
        <table class="lines">
        <tr><th class="number" scope="col">line</th><th scope="col">one</th><th class="number" scope="col">line</th><th scope="col">two</th></tr>
        <tr><td class="number">6</td><td>e</td><td class="number">6</td><td>e</td></tr>
        <tr><td class="number"></td><td></td><td class="number">7</td><td class="added">f</td></tr>
        </table>
        </section>
        </html>
        "##);
    }

    #[test]
    fn sections_of_one_page_have_names_of_their_own() {
        let diff = TextDiff::between("a\n", "b\n", LineOptions::default());
        let hunks = unified(&diff, &DiffView::default());
        let about = |title| DiffPage { title, ..DiffPage::default() };
        let both = section(&about("one"), &hunks, 1) + &section(&about("two"), &hunks, 2);
        for name in ["page-1", "page-2", "page-1-change-1", "page-2-change-1"] {
            assert_eq!(both.matches(&format!("id=\"{name}\"")).count(), 1, "{both}");
        }
        assert_eq!(
            (super::list("None", []), contents([])),
            (String::new(), "<p>No page changed.</p>\n".to_owned())
        );
        let quiet = super::list("Noise", ["<b>: nonce 1"]);
        assert_eq!(quiet, "<h2>Noise</h2>\n<ul>\n<li>&lt;b&gt;: nonce 1</li>\n</ul>\n");
        let list = contents(["one", "<two>"]);
        assert!(list.contains("<a href=\"#page-2\">&lt;two&gt;</a>"), "{list}");
    }

    #[test]
    fn nothing_of_a_page_is_markup() {
        let html = sample("", "<script src=//evil>'\"</script>\u{202e}\u{7}\n");
        assert!(!html.contains("<script") && html.contains("\\u{202e}\\u{7}"));
    }
}
