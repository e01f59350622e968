//! Edits that people make to pages, and the list of operations that each of them is reported as.

use varve_core::headers::{HeaderView, Redaction};
use varve_diff::compare::{CaptureSide, CompareOptions, DiffMode, compare};

/// Kind and part, path, before, after, and the content of a moved node.
type Operation = [String; 5];

fn operation(kind: &str, path: &str, before: &str, after: &str) -> Operation {
    [kind, path, before, after, ""].map(str::to_owned)
}

fn added(path: &str, html: &str) -> Operation {
    operation("added", path, "", html)
}

fn removed(path: &str, html: &str) -> Operation {
    operation("removed", path, html, "")
}

fn text(path: &str, before: &str, after: &str) -> Operation {
    operation("changed text", path, before, after)
}

fn attribute(path: &str, name: &str, before: &str, after: &str) -> Operation {
    operation(&format!("changed attribute {name}"), path, before, after)
}

fn moved(path: &str, before: &str, after: &str, content: &str) -> Operation {
    ["moved", path, before, after, content].map(str::to_owned)
}

/// The operations that the JSON of a diff by nodes lists.
fn operations(base: &str, head: &str) -> Vec<Operation> {
    let html = HeaderView::from_pairs([("content-type", "text/html")], Redaction::Off);
    let side = |body| CaptureSide { id: "", headers: &html, body, media_type: None };
    let options = CompareOptions { mode: DiffMode::Dom, ..CompareOptions::default() };
    let comparison = compare(&side(base.as_bytes()), &side(head.as_bytes()), &options);
    let report = serde_json::to_value(comparison.report(true)).expect("a report is JSON");
    let chunks = report["body_diff"]["chunks"].as_array().expect("a list").clone();
    let operation = |chunk: &serde_json::Value| {
        let field = |name: &str| chunk[name].as_str().unwrap_or_default().to_owned();
        let words = [field("type"), field("part"), field("attribute")];
        let kind = words.iter().filter(|word| !word.is_empty()).cloned().collect::<Vec<_>>().join(" ");
        let (content, path) = (field("content"), field("path"));
        match words[0].as_str() {
            "added" => [kind, path, String::new(), content, String::new()],
            "removed" => [kind, path, content, String::new(), String::new()],
            _ => [kind, path, field("before"), field("after"), content],
        }
    };
    chunks.iter().map(operation).collect()
}

/// One edit: its name, the page before and after it, and the operations.
struct PageEdit {
    name: &'static str,
    base: &'static str,
    head: &'static str,
    expected: Vec<Operation>,
}

fn edit(name: &'static str, base: &'static str, head: &'static str, expected: &[Operation]) -> PageEdit {
    PageEdit { name, base, head, expected: expected.to_vec() }
}

/// Compares each page with its edit, and reports all that are read wrongly at once.
fn check(edits: &[PageEdit]) {
    let mut wrong = String::new();
    for PageEdit { name, base, head, expected } in edits {
        let found = operations(base, head);
        if found != *expected {
            wrong += &format!("{name}:\n  expected {expected:#?}\n  found {found:#?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn edits_of_texts_and_attributes() {
    check(&[
        edit(
            "a heading is edited",
            "<h1>Old heading</h1><p>The text stays.</p>",
            "<h1>New heading</h1><p>The text stays.</p>",
            &[text("html > body > h1", "Old heading", "New heading")],
        ),
        edit(
            "a title is edited",
            "<!doctype html><title>Harbour news</title><p>Same</p>",
            "<!doctype html><title>Harbour news, May</title><p>Same</p>",
            &[text("html > head > title", "Harbour news", "Harbour news, May")],
        ),
        edit(
            "an attribute changes",
            "<table><tr><td colspan=2>Total</td></tr></table>",
            "<table><tr><td colspan=3>Total</td></tr></table>",
            &[attribute("html > body > table > tbody > tr > td", "colspan", "2", "3")],
        ),
        edit(
            "a class is added",
            "<nav><a href=/>Home</a><a href=/shop>Shop</a></nav>",
            "<nav><a href=/>Home</a><a href=/shop class=active>Shop</a></nav>",
            &[attribute("html > body > nav > a:nth-of-type(2)", "class", "", "active")],
        ),
        edit(
            "a link leads elsewhere",
            "<p>Read <a href=/terms-2025>our terms</a>.</p>",
            "<p>Read <a href=/terms-2026>our terms</a>.</p>",
            &[attribute("html > body > p > a", "href", "/terms-2025", "/terms-2026")],
        ),
        edit(
            "an image is replaced",
            "<figure><img src=/cat.jpg alt='A cat'><figcaption>Our pet</figcaption></figure>",
            "<figure><img src=/dog.jpg alt='A dog'><figcaption>Our pet</figcaption></figure>",
            &[
                attribute("html > body > figure > img", "src", "/cat.jpg", "/dog.jpg"),
                attribute("html > body > figure > img", "alt", "A cat", "A dog"),
            ],
        ),
        edit(
            "a field of a form has another value",
            "<form action=/pay><input name=amount value=10><input name=to value=shop></form>",
            "<form action=/pay><input name=amount value=25><input name=to value=shop></form>",
            &[attribute("html > body > form > input:nth-of-type(1)", "value", "10", "25")],
        ),
        edit(
            "a description changes",
            "<!doctype html><meta charset=utf-8><meta name=description content='Boats for hire'><title>Boats</title>",
            "<!doctype html><meta charset=utf-8><meta name=description content='Boats for sale'><title>Boats</title>",
            &[attribute("html > head > meta:nth-of-type(2)", "content", "Boats for hire", "Boats for sale")],
        ),
        edit(
            "a path of a drawing changes",
            "<svg><g><path d='M0 0h10'/><path d='M5 5v9'/></g></svg>",
            "<svg><g><path d='M0 0h10'/><path d='M5 5v3'/></g></svg>",
            &[attribute("html > body > svg > g > path:nth-of-type(2)", "d", "M5 5v9", "M5 5v3")],
        ),
        edit(
            "a frame shows another page",
            "<p>Map:</p><iframe src=https://maps.example/a></iframe>",
            "<p>Map:</p><iframe src=https://maps.example/b></iframe>",
            &[attribute("html > body > iframe", "src", "https://maps.example/a", "https://maps.example/b")],
        ),
        edit(
            "a script changes",
            "<p>Text</p><script>start(1);</script>",
            "<p>Text</p><script>start(2);</script>",
            &[text("html > body > script", "start(1);", "start(2);")],
        ),
        edit(
            "a comment changes",
            "<p>Text</p><!-- reviewed by Ann --><p>More</p>",
            "<p>Text</p><!-- reviewed by Bob --><p>More</p>",
            &[operation(
                "changed comment",
                "html > body",
                "<!-- reviewed by Ann -->",
                "<!-- reviewed by Bob -->",
            )],
        ),
        edit(
            "the content of a template changes",
            "<!doctype html><body><template id=row><td>Name</td></template>",
            "<!doctype html><body><template id=row><td>Full name</td></template>",
            &[text("template#row /* in the template's content: td */", "Name", "Full name")],
        ),
        edit(
            "all siblings are equal, and the third is edited",
            "<ol><li>same</li><li>same</li><li>same</li><li>same</li></ol>",
            "<ol><li>same</li><li>same</li><li>other</li><li>same</li></ol>",
            &[text("html > body > ol > li:nth-of-type(3)", "same", "other")],
        ),
    ]);
}

#[test]
fn edits_of_lists() {
    check(&[
        edit(
            "a paragraph is added before an edited one",
            "<main><h2>Hours</h2><p>We are open from nine to five.</p></main>",
            "<main><h2>Hours</h2><p>Closed on holidays.</p><p>We are open from nine to six.</p></main>",
            &[
                added("html > body > main > p:nth-of-type(1)", "<p>Closed on holidays.</p>"),
                text(
                    "html > body > main > p:nth-of-type(2)",
                    "We are open from nine to five.",
                    "We are open from nine to six.",
                ),
            ],
        ),
        edit(
            "an item is added beside an edited one",
            "<ul><li>Apples</li><li>Pears, 3 kg</li><li>Plums</li></ul>",
            "<ul><li>Apples</li><li>Quinces, 1 kg</li><li>Pears, 5 kg</li><li>Plums</li></ul>",
            &[
                added("html > body > ul > li:nth-of-type(2)", "<li>Quinces, 1 kg</li>"),
                text("html > body > ul > li:nth-of-type(3)", "Pears, 3 kg", "Pears, 5 kg"),
            ],
        ),
        edit(
            "an item is added beside one of which a letter changed",
            "<nav><ul><li><a href=/>Home</a></li><li><a href=/contact>Contact</a></li></ul></nav>",
            "<nav><ul><li><a href=/>Home</a></li><li><a href=/blog>Blog</a></li><li><a href=/contact>Contacts</a></li></ul></nav>",
            &[
                added("html > body > nav > ul > li:nth-of-type(2)", "<li><a href=\"/blog\">Blog</a></li>"),
                text("html > body > nav > ul > li:nth-of-type(3) > a", "Contact", "Contacts"),
            ],
        ),
        edit(
            "two items are swapped",
            "<ul><li>Apples</li><li>Pears</li><li>Plums</li></ul>",
            "<ul><li>Pears</li><li>Apples</li><li>Plums</li></ul>",
            &[moved(
                "html > body > ul > li:nth-of-type(2)",
                "html > body > ul > li:nth-of-type(1)",
                "html > body > ul > li:nth-of-type(2)",
                "<li>Apples</li>",
            )],
        ),
    ]);
}

#[test]
fn edits_of_rows_and_equal_siblings() {
    check(&[
        edit(
            "a row is added",
            "<table><tr><td>Ann</td><td>41</td></tr><tr><td>Cid</td><td>27</td></tr></table>",
            "<table><tr><td>Ann</td><td>41</td></tr><tr><td>Bob</td><td>33</td></tr><tr><td>Cid</td><td>27</td></tr></table>",
            &[added("html > body > table > tbody > tr:nth-of-type(2)", "<tr><td>Bob</td><td>33</td></tr>")],
        ),
        edit(
            "a row is removed",
            "<table><tr><td>Ann</td><td>41</td></tr><tr><td>Bob</td><td>33</td></tr><tr><td>Cid</td><td>27</td></tr></table>",
            "<table><tr><td>Ann</td><td>41</td></tr><tr><td>Cid</td><td>27</td></tr></table>",
            &[removed("html > body > table > tbody > tr:nth-of-type(2)", "<tr><td>Bob</td><td>33</td></tr>")],
        ),
        edit(
            "a row is edited",
            "<table><tr><td>Ann</td><td>41</td></tr><tr><td>Bob</td><td>33</td></tr></table>",
            "<table><tr><td>Ann</td><td>41</td></tr><tr><td>Bob</td><td>34</td></tr></table>",
            &[text("html > body > table > tbody > tr:nth-of-type(2) > td:nth-of-type(2)", "33", "34")],
        ),
        edit(
            "a row is removed and the next one is edited",
            "<table><tr><td>Ann</td><td>41</td></tr><tr><td>Bob</td><td>33</td></tr><tr><td>Cid</td><td>27</td></tr></table>",
            "<table><tr><td>Ann</td><td>41</td></tr><tr><td>Cid</td><td>28</td></tr></table>",
            &[
                text("html > body > table > tbody > tr:nth-of-type(2) > td:nth-of-type(2)", "27", "28"),
                removed(
                    "html > body > table > tbody > tr:nth-of-type(2)",
                    "<tr><td>Bob</td><td>33</td></tr>",
                ),
            ],
        ),
        edit(
            "two of several equal siblings are edited",
            "<ol><li>same</li><li>same</li><li>same</li><li>same</li><li>same</li></ol>",
            "<ol><li>same</li><li>second</li><li>same</li><li>same</li><li>fifth</li></ol>",
            &[
                text("html > body > ol > li:nth-of-type(2)", "same", "second"),
                text("html > body > ol > li:nth-of-type(5)", "same", "fifth"),
            ],
        ),
        edit(
            "an item is added in an inner list",
            "<ul><li>Fruit<ul><li>Apple</li></ul></li><li>Bread</li></ul>",
            "<ul><li>Fruit<ul><li>Apple</li><li>Pear</li></ul></li><li>Bread</li></ul>",
            &[added("html > body > ul > li:nth-of-type(1) > ul > li:nth-of-type(2)", "<li>Pear</li>")],
        ),
        edit(
            "one of several equal siblings is removed",
            "<p>Stars: <i>*</i><i>*</i><i>*</i></p>",
            "<p>Stars: <i>*</i><i>*</i></p>",
            &[removed("html > body > p > i:nth-of-type(3)", "<i>*</i>")],
        ),
        edit(
            "an item is added at the top, and the times of all others change",
            "<ul><li><a href=/tide>High tide</a> <i>1 hour ago</i></li><li><a href=/fog>Fog</a> <i>2 hours ago</i></li></ul>",
            "<ul><li><a href=/ice>Ice</a> <i>1 hour ago</i></li><li><a href=/tide>High tide</a> <i>4 hours ago</i></li><li><a href=/fog>Fog</a> <i>5 hours ago</i></li></ul>",
            &[
                added(
                    "html > body > ul > li:nth-of-type(1)",
                    "<li><a href=\"/ice\">Ice</a> <i>1 hour ago</i></li>",
                ),
                text("html > body > ul > li:nth-of-type(2) > i", "1 hour ago", "4 hours ago"),
                text("html > body > ul > li:nth-of-type(3) > i", "2 hours ago", "5 hours ago"),
            ],
        ),
    ]);
}

#[test]
fn moves_of_elements() {
    check(&[
        edit(
            "a section moves, and a word in it is edited",
            "<main><section><h2>Prices</h2><p>A day costs ten crowns for each boat.</p></section>\
             <section><h2>Boats</h2><p>All of them have sails.</p></section>\
             <section><h2>Weather</h2><p>Mostly rain.</p></section></main>",
            "<main><section><h2>Boats</h2><p>All of them have sails.</p></section>\
             <section><h2>Weather</h2><p>Mostly rain.</p></section>\
             <section><h2>Prices</h2><p>A day costs nine crowns for each boat.</p></section></main>",
            &[
                moved(
                    "html > body > main > section:nth-of-type(3)",
                    "html > body > main > section:nth-of-type(1)",
                    "html > body > main > section:nth-of-type(3)",
                    "<section><h2>Prices</h2><p>A day costs nine crowns for each boat.</p></section>",
                ),
                text(
                    "html > body > main > section:nth-of-type(3) > p",
                    "A day costs ten crowns for each boat.",
                    "A day costs nine crowns for each boat.",
                ),
            ],
        ),
        edit(
            "cards with ids are reordered",
            "<div><section id=a><h3>One</h3></section><section id=b><h3>Two</h3></section><section id=c><h3>Three</h3></section></div>",
            "<div><section id=b><h3>Two</h3></section><section id=c><h3>Three</h3></section><section id=a><h3>One</h3></section></div>",
            &[moved(
                "section#a",
                "html > body > div > section:nth-of-type(1)",
                "html > body > div > section:nth-of-type(3)",
                "<section id=\"a\"><h3>One</h3></section>",
            )],
        ),
        edit(
            "cards with ids are reordered, and all are edited",
            "<div><section id=a><h3>One</h3></section><section id=b><h3>Two</h3></section></div>",
            "<div><section id=b><h3>Deux</h3></section><section id=a><h3>Un</h3></section></div>",
            &[
                moved(
                    "section#b",
                    "html > body > div > section:nth-of-type(2)",
                    "html > body > div > section:nth-of-type(1)",
                    "<section id=\"b\"><h3>Deux</h3></section>",
                ),
                text("section#b > h3", "Two", "Deux"),
                text("section#a > h3", "One", "Un"),
            ],
        ),
        edit(
            "a card with an id moves to another column, and is edited",
            "<div id=left><p id=card>Call us at noon</p><p>Left</p></div><div id=right><p>Right</p></div>",
            "<div id=left><p>Left</p></div><div id=right><p>Right</p><p id=card>Call us at six</p></div>",
            &[
                moved(
                    "p#card",
                    "div#left > p:nth-of-type(1)",
                    "div#right > p:nth-of-type(2)",
                    "<p id=\"card\">Call us at six</p>",
                ),
                text("p#card", "Call us at noon", "Call us at six"),
            ],
        ),
        edit(
            "a card moves with an element that has an id as well, and both are edited",
            "<div id=left><section id=card>Old news <b id=time>at noon</b></section><p>Left</p></div><div id=right><p>Right</p></div>",
            "<div id=left><p>Left</p></div><div id=right><p>Right</p><section id=card>New news <b id=time>at six</b></section></div>",
            &[
                moved(
                    "section#card",
                    "div#left > section",
                    "div#right > section",
                    "<section id=\"card\">New news <b id=\"time\">at six</b></section>",
                ),
                text("section#card", "Old news", "New news"),
                text("b#time", "at noon", "at six"),
            ],
        ),
    ]);
}

#[test]
fn moves_of_texts() {
    check(&[
        edit(
            "a loose text moves to a sibling",
            "<div id=a>The ferry leaves at ten every day. <b>Tickets</b></div><div id=b><i>Notes</i></div>",
            "<div id=a><b>Tickets</b></div><div id=b><i>Notes</i> The ferry leaves at ten every day.</div>",
            &[["moved text", "div#b", "div#a", "div#b", "The ferry leaves at ten every day."]
                .map(str::to_owned)],
        ),
        edit(
            "a loose text moves within its element",
            "<div id=a>The ferry leaves at ten every day.<hr><ul><li>Tickets</li><li>Parking</li></ul></div>",
            "<div id=a><hr><ul><li>Tickets</li><li>Parking</li></ul>The ferry leaves at ten every day.</div>",
            &[[
                "moved text",
                "div#a",
                "div#a /* first */",
                "div#a /* after <ul><li>Tickets</li><li>Parking</li></ul> */",
                "The ferry leaves at ten every day.",
            ]
            .map(str::to_owned)],
        ),
        edit(
            "a text is copied to several places, and does not move",
            "<table><tr><th>connect-worker-metrics</th></tr><tr><td>A</td></tr><tr><td>B</td></tr></table>",
            "<table><tr><td>A</td><td>connect-worker-metrics</td></tr><tr><td>B</td><td>connect-worker-metrics</td></tr></table>",
            &[
                added(
                    "html > body > table > tbody > tr:nth-of-type(1) > td:nth-of-type(2)",
                    "<td>connect-worker-metrics</td>",
                ),
                added(
                    "html > body > table > tbody > tr:nth-of-type(2) > td:nth-of-type(2)",
                    "<td>connect-worker-metrics</td>",
                ),
                removed(
                    "html > body > table > tbody > tr:nth-of-type(1)",
                    "<tr><th>connect-worker-metrics</th></tr>",
                ),
            ],
        ),
        edit(
            "an element moves past siblings of other names",
            "<nav><a href=/>Home</a></nav><h1>Boats</h1><p>Text</p>",
            "<h1>Boats</h1><p>Text</p><nav><a href=/>Home</a></nav>",
            &[moved(
                "html > body > nav",
                "html > body > nav /* first */",
                "html > body > nav /* after <p>Text</p> */",
                "<nav><a href=\"/\">Home</a></nav>",
            )],
        ),
    ]);
}

#[test]
fn edits_of_the_structure() {
    check(&[
        edit(
            "an element is wrapped",
            "<h1>Boats</h1><img src=/boat.jpg><p>Text</p>",
            "<h1>Boats</h1><figure><img src=/boat.jpg></figure><p>Text</p>",
            &[added("html > body > figure", "<figure>…</figure>")],
        ),
        edit(
            "an element is unwrapped",
            "<h1>Boats</h1><div class=box><p>One</p><p>Two</p></div>",
            "<h1>Boats</h1><p>One</p><p>Two</p>",
            &[removed("html > body > div", "<div class=\"box\">…</div>")],
        ),
        edit(
            "an element is wrapped, and a word in it is edited",
            "<body><div class=story><h2>Storm</h2><p>The harbour is closed until noon.</p></div>",
            "<body><div class=page><div class=story><h2>Storm</h2><p>The harbour is closed until six.</p></div></div>",
            &[
                added("html > body > div", "<div class=\"page\">…</div>"),
                text(
                    "html > body > div > div > p",
                    "The harbour is closed until noon.",
                    "The harbour is closed until six.",
                ),
            ],
        ),
        edit(
            "an edited element is unwrapped",
            "<body><div class=page><p class=intro>The harbour is closed until noon.</p></div><p>End</p>",
            "<body><p class=intro>The harbour is closed until six.</p><p>End</p>",
            &[
                text(
                    "html > body > p:nth-of-type(1)",
                    "The harbour is closed until noon.",
                    "The harbour is closed until six.",
                ),
                removed("html > body > div", "<div class=\"page\">…</div>"),
            ],
        ),
        edit(
            "the tag of an element changes",
            "<h1>Boats</h1><h2>Sails and oars</h2><p>Text</p>",
            "<h1>Boats</h1><h3>Sails and oars</h3><p>Text</p>",
            &[operation("changed tag", "html > body > h3", "<h2>", "<h3>")],
        ),
        edit(
            "an element with scripting is replaced, and not renamed",
            "<h1>Boats</h1><div>start()</div>",
            "<h1>Boats</h1><script>start()</script>",
            &[
                added("html > body > script", "<script>start()</script>"),
                removed("html > body > div", "<div>start()</div>"),
            ],
        ),
        edit(
            "a text is split by an element",
            "<p>Boats leave at ten from the pier.</p>",
            "<p>Boats leave <b>at ten</b> from the pier.</p>",
            &[
                operation("added text", "html > body > p", "", "Boats leave "),
                added("html > body > p > b", "<b>at ten</b>"),
                text("html > body > p", "Boats leave at ten from the pier.", "from the pier."),
            ],
        ),
    ]);
}

#[test]
fn pages_that_differ_in_their_markup_only() {
    check(&[
        edit(
            "white space between blocks",
            "<ul><li>One</li><li>Two</li></ul>",
            "<ul>\n  <li>One</li>\n  <li>Two</li>\n</ul>\n",
            &[],
        ),
        edit(
            "an entity that is spelled otherwise",
            "<p>Fish &amp; chips &eacute;</p>",
            "<p>Fish &#38; chips é</p>",
            &[],
        ),
        edit(
            "another order of attributes",
            "<p><a href=/x class=y title=z>Link</a></p>",
            "<p><a title=z class=y href=/x>Link</a></p>",
            &[],
        ),
        edit(
            "another order of attributes, beside an edit",
            "<p>Old</p><p><a href=/x class=y>Link</a></p>",
            "<p>New</p><p><a class=y href=/x>Link</a></p>",
            &[text("html > body > p:nth-of-type(1)", "Old", "New")],
        ),
    ]);
}
