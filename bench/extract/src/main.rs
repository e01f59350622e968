//! Runs the extraction of varve over pages whose main content is known.
//!
//!     varve-bench-extract features FOLDER > FILE    blocks with features, for `train.py`
//!     varve-bench-extract extract FOLDER > FILE     a page object for each page, one on a line
//!     varve-bench-extract parse FOLDER              html5ever alone: the floor of the time
//!     varve-bench-extract load FOLDER               reading the files: to be subtracted from all
//!
//! FOLDER has `html/ID.html.gz` and `ground-truth/ID.json`.

use flate2::read::GzDecoder;
use html5ever::tendril::{StrTendril, TendrilSink};
use std::error::Error;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use varve_extract::{ExtractOptions, PageInput, training};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [command, folder] = arguments.as_slice() else { return Err("usage: COMMAND FOLDER".into()) };
    let mut out = BufWriter::new(std::io::stdout().lock());
    if command == "features" {
        writeln!(out, "{}", training::feature_names().join("\t"))?;
    }
    for page in pages(Path::new(folder))? {
        match command.as_str() {
            "features" => write_features(&page, &mut out)?,
            "extract" => write_page(&page, &mut out)?,
            "parse" => parse(&page),
            "load" => {}
            other => return Err(format!("unknown command: {other}").into()),
        }
    }
    Ok(out.flush()?)
}

struct Page {
    id: String,
    url: String,
    body: Vec<u8>,
}

fn pages(folder: &Path) -> Result<Vec<Page>, Box<dyn Error>> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder.join("ground-truth"))? {
        let path = entry?.path();
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let truth: serde_json::Value = serde_json::from_slice(&std::fs::read(&path)?)?;
        let mut body = Vec::new();
        let file = std::fs::File::open(folder.join("html").join(format!("{id}.html.gz")))?;
        GzDecoder::new(file).read_to_end(&mut body)?;
        pages.push(Page { id, url: truth["url"].as_str().unwrap_or_default().to_owned(), body });
    }
    pages.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(pages)
}

/// A line for the page, then a line for each block.
fn write_features(page: &Page, out: &mut impl Write) -> std::io::Result<()> {
    let decoded = varve_page::charset::decode(&page.body, None);
    let blocks = training::blocks(&decoded.text, &page.url);
    writeln!(out, "#\t{}\t{}", page.id, blocks.len())?;
    for block in blocks {
        write!(out, "{}", block.text.split_whitespace().collect::<Vec<_>>().join(" "))?;
        block.features.iter().try_for_each(|value| write!(out, "\t{value}"))?;
        writeln!(out)?;
    }
    Ok(())
}

fn write_page(page: &Page, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let input = PageInput {
        body: &page.body,
        content_type: Some("text/html"),
        requested_url: &page.url,
        ..PageInput::default()
    };
    let options = ExtractOptions::default();
    let mut object = serde_json::to_value(varve_extract::extract(&input, &options).page)?;
    object["file_id"] = page.id.clone().into();
    writeln!(out, "{object}")?;
    Ok(())
}

fn parse(page: &Page) {
    let text = varve_page::charset::decode(&page.body, None).text;
    let sink = markup5ever_rcdom::RcDom::default();
    let mut parser = html5ever::parse_document(sink, html5ever::ParseOpts::default());
    parser.process(StrTendril::from_slice(&text));
    std::hint::black_box(parser.finish());
}
