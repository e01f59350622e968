//! FTS5, without the text.

use std::path::Path;

use rusqlite::{Connection, params};

use crate::Engine;
use crate::corpus::Corpus;

pub struct Fts5 {
    connection: Connection,
    detail: &'static str,
}

impl Fts5 {
    pub fn new(folder: &Path, detail: &'static str) -> Self {
        let connection = Connection::open(folder.join("search.db")).expect("a new database");
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = WAL; PRAGMA cache_size = -16384;
                 CREATE VIRTUAL TABLE pages USING fts5 (title, body, content = '', contentless_delete = 1,
                     detail = {detail}, tokenize = 'ascii');
                 INSERT INTO pages (pages, rank) VALUES ('rank', 'bm25(8.0, 1.0)')"
            ))
            .expect("FTS5 is compiled in");
        Self { connection, detail }
    }

    fn write(&mut self, numbers: impl Iterator<Item = usize>, corpus: &Corpus) {
        let transaction = self.connection.transaction().expect("a transaction");
        {
            let sql = "INSERT OR REPLACE INTO pages (rowid, title, body) VALUES (?1, ?2, ?3)";
            let mut statement = transaction.prepare(sql).expect("a statement");
            for number in numbers {
                let row = params![number as i64, corpus.title(number), corpus.body(number)];
                statement.execute(row).expect("a row");
            }
        }
        transaction.commit().expect("a commit");
        self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("a checkpoint");
    }
}

impl Engine for Fts5 {
    fn build(&mut self, corpus: &Corpus) {
        self.write(0..corpus.len(), corpus);
    }

    fn update(&mut self, corpus: &Corpus) {
        self.write((0..corpus.len()).step_by(20), corpus);
    }

    fn search(&self, words: &[String], phrase: bool) -> usize {
        let quoted = match phrase && self.detail == "full" {
            true => format!("\"{}\"", words.join(" ")),
            false => words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" "),
        };
        let order = if self.detail == "full" { "rank" } else { "rowid" };
        let sql = format!("SELECT rowid FROM pages WHERE pages MATCH ?1 ORDER BY {order} LIMIT 10");
        let mut statement = self.connection.prepare_cached(&sql).expect("a statement");
        let rows = statement.query_map([quoted], |row| row.get::<_, i64>(0)).expect("a query");
        rows.flatten().count()
    }
}
