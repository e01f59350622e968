//! Finds the parts that have all words, and orders them by how often and where they have them.
//!
//! FTS5 intersects the lists of parts. Its own ranking needs positions, which make the index four
//! times as large; here the words with marks are looked up instead, each once for all candidates.

use rusqlite::{Connection, params};
use varve_core::search_index::{CandidateParts, PartNumber, WordLookup};
use varve_sqlite::{SqlResult, collect_rows};

/// The number of candidates up to which their order does not matter: the caller verifies all of them,
/// and ranks them exactly.
const MAX_UNRANKED_PARTS: usize = 100;
/// The number of words by which candidates are ordered.
const MAX_RANKED_WORDS: usize = 8;
/// How soon more occurrences count less.
const TERM_SATURATION: f32 = 1.2;

/// The candidates for a query.
pub(super) fn find(
    connection: &Connection,
    words: &[WordLookup],
    site: Option<&str>,
) -> SqlResult<CandidateParts> {
    let all = words.iter().map(match_word).collect::<Vec<_>>().join(" ");
    let parts = parts_with(connection, &all, site)?;
    if parts.is_empty() {
        return Ok(CandidateParts { parts: Vec::new(), rarity: vec![0.0; words.len()] });
    }
    let sql = "SELECT count(*) FROM parts";
    let total: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    let mut rarity = Vec::with_capacity(words.len());
    for word in words {
        let sql = "SELECT count(*) FROM words WHERE words MATCH ?1";
        let count: i64 = connection.prepare_cached(sql)?.query_row([match_word(word)], |row| row.get(0))?;
        rarity.push(rarity_of(count, total));
    }
    let parts = match parts.len() {
        0..=MAX_UNRANKED_PARTS => parts,
        _ => ranked(connection, (&all, site), words, &rarity, parts)?,
    };
    Ok(CandidateParts { parts: parts.into_iter().map(PartNumber).collect(), rarity })
}

/// A word in the query language of FTS5. A normalised word has no quotation marks.
fn match_word(word: &WordLookup) -> String {
    let WordLookup { text, is_prefix, .. } = word;
    format!("\"{text}\"{}", if *is_prefix { "*" } else { "" })
}

/// The parts that a query of FTS5 finds, by number.
fn parts_with(connection: &Connection, query: &str, site: Option<&str>) -> SqlResult<Vec<i64>> {
    let sql = match site {
        None => "SELECT rowid FROM words WHERE words MATCH ?1 AND ?2 IS NULL ORDER BY rowid",
        Some(_) => {
            "SELECT words.rowid FROM words CROSS JOIN parts AS p ON p.no = words.rowid
             CROSS JOIN pages AS g ON g.no = p.page_no
             WHERE words MATCH ?1 AND (g.host = ?2 OR substr(g.host, -length(?2) - 1) = '.' || ?2)
             ORDER BY words.rowid"
        }
    };
    collect_rows(connection, sql, params![query, site], |row| Ok(row.get(0)?))
}

fn rarity_of(count: i64, total: i64) -> f32 {
    let (count, total) = (count as f32, total.max(count) as f32);
    (1.0 + (total - count + 0.5) / (count + 0.5)).ln()
}

/// The parts in the order of their weights. Of equals, the newer one comes first.
fn ranked(
    connection: &Connection,
    (all, site): (&str, Option<&str>),
    words: &[WordLookup],
    rarity: &[f32],
    parts: Vec<i64>,
) -> SqlResult<Vec<i64>> {
    let mut by_rarity: Vec<usize> = (0..words.len()).collect();
    by_rarity.sort_by(|one, other| rarity[*other].total_cmp(&rarity[*one]));
    let mut scores = vec![0.0f32; parts.len()];
    for number in by_rarity.into_iter().take(MAX_RANKED_WORDS) {
        let mut weights = vec![1.0f32; parts.len()];
        for (marked, weight) in &words[number].ranking {
            let having = parts_with(connection, &format!("{all} \"{marked}\""), site)?;
            let mut having = having.into_iter().peekable();
            for (part, sum) in parts.iter().zip(&mut weights) {
                if having.next_if_eq(part).is_some() {
                    *sum += weight;
                }
            }
        }
        for (score, weight) in scores.iter_mut().zip(weights) {
            *score += rarity[number] * weight * (TERM_SATURATION + 1.0) / (weight + TERM_SATURATION);
        }
    }
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]).then(other.cmp(one)));
    Ok(order.into_iter().map(|place| parts[place]).collect())
}
