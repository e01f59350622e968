//! tantivy, without the text.

use std::path::Path;

use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::{Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexWriter, TantivyDocument, Term};

use crate::Engine;
use crate::corpus::Corpus;

pub struct Tantivy {
    index: Index,
    number: Field,
    title: Field,
    body: Field,
}

impl Tantivy {
    pub fn new(folder: &Path) -> Self {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("whitespace")
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let text = TextOptions::default().set_indexing_options(indexing);
        let number = schema.add_u64_field("number", INDEXED);
        let title = schema.add_text_field("title", text.clone());
        let body = schema.add_text_field("body", text);
        let index = Index::create_in_dir(folder, schema.build()).expect("a new index");
        Self { index, number, title, body }
    }

    fn write(&mut self, numbers: impl Iterator<Item = usize>, corpus: &Corpus, replace: bool) {
        let mut writer: IndexWriter = self.index.writer_with_num_threads(1, 50_000_000).expect("a writer");
        for number in numbers {
            if replace {
                writer.delete_term(Term::from_field_u64(self.number, number as u64));
            }
            let mut page = TantivyDocument::default();
            page.add_u64(self.number, number as u64);
            page.add_text(self.title, corpus.title(number));
            page.add_text(self.body, corpus.body(number));
            writer.add_document(page).expect("a page");
        }
        writer.commit().expect("a commit");
        writer.wait_merging_threads().expect("merges end");
    }
}

impl Engine for Tantivy {
    fn build(&mut self, corpus: &Corpus) {
        self.write(0..corpus.len(), corpus, false);
    }

    fn update(&mut self, corpus: &Corpus) {
        self.write((0..corpus.len()).step_by(20), corpus, true);
    }

    fn search(&self, words: &[String], phrase: bool) -> usize {
        let searcher = self.index.reader().expect("a reader").searcher();
        let query: Box<dyn Query> = if phrase {
            let terms = words.iter().map(|word| Term::from_field_text(self.body, word)).collect();
            Box::new(PhraseQuery::new(terms))
        } else {
            let of = |field, word: &String| -> Box<dyn Query> {
                Box::new(TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::WithFreqs))
            };
            let each = words.iter().map(|word| {
                let title = Box::new(BoostQuery::new(of(self.title, word), 8.0)) as Box<dyn Query>;
                let any = vec![(Occur::Should, title), (Occur::Should, of(self.body, word))];
                (Occur::Must, Box::new(BooleanQuery::new(any)) as Box<dyn Query>)
            });
            Box::new(BooleanQuery::new(each.collect()))
        };
        searcher.search(&query, &TopDocs::with_limit(10).order_by_score()).expect("a search").len()
    }
}
