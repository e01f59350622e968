//! `/settings/domain`: how the pages of domains are fetched.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use varve_archive::pages::{DomainQuery, DomainSettings, FetchMethod, StoredDomainSettings};

use super::error::ApiError;
use super::request_input::{read_settings, wants_pretty};
use super::{json_output, page_service, read_archive};
use crate::app_state::AppState;
use crate::request::RequestParts;
use crate::response;

/// Settings in one response.
const MAX_LISTED_SETTINGS: usize = 1000;

/// The JSON form of settings. Absent, `null` and empty are the same.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsObject {
    /// The domain of the path counts.
    #[serde(default, rename = "domain")]
    _domain: Option<IgnoredAny>,
    #[serde(default)]
    sitename: Option<String>,
    #[serde(default)]
    fetch_client: Option<FetchMethod>,
    #[serde(default)]
    user_agent: Option<String>,
    #[serde(default)]
    headers: Option<BTreeMap<String, String>>,
    #[serde(default)]
    ttl: Option<u64>,
}

impl From<SettingsObject> for DomainSettings {
    fn from(object: SettingsObject) -> Self {
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        Self {
            sitename: filled(object.sitename),
            fetch_client: object.fetch_client.filter(|method| *method != FetchMethod::Unspecified),
            user_agent: filled(object.user_agent),
            headers: object.headers.unwrap_or_default(),
            ttl: object.ttl,
        }
    }
}

/// The settings of a domain.
pub(super) async fn show(
    State(state): State<Arc<AppState>>,
    Path(domain): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let pages = page_service(&state)?;
    let stored = read_archive(move || Ok(pages.domain_settings(&domain)?)).await?;
    let not_found = || ApiError::new(StatusCode::NOT_FOUND, "resource not found in data store");
    let (parts, _) = request.into_parts();
    Ok(json_output::object(StatusCode::OK, &to_json(stored.ok_or_else(not_found)?), wants_pretty(&parts)))
}

/// Sets the settings of a domain.
pub(super) async fn set(
    State(state): State<Arc<AppState>>,
    Path(domain): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let pages = page_service(&state)?;
    let settings = DomainSettings::from(read_settings::<SettingsObject>(body).await?);
    let admitted = state.fetch_slots.admit()?;
    let stored = admitted.run(move || pages.set_domain_settings(&domain, &settings)).await??;
    Ok(json_output::object(StatusCode::OK, &to_json(stored), wants_pretty(&parts)))
}

/// Deletes the settings of a domain, if it has some.
pub(super) async fn delete(
    State(state): State<Arc<AppState>>,
    Path(domain): Path<String>,
) -> Result<Response, ApiError> {
    let pages = page_service(&state)?;
    state.fetch_slots.admit()?.run(move || pages.delete_domain_settings(&domain)).await??;
    Ok(response::empty(StatusCode::NO_CONTENT))
}

/// The settings of the domains that a query finds.
pub(super) async fn list(State(state): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let (parts, _) = request.into_parts();
    let query = read_query(&parts)?;
    let echo = echo(&query);
    let pages = page_service(&state)?;
    let stored = read_archive(move || Ok(pages.list_domain_settings(&query)?)).await?;
    let settings: Vec<Value> = stored.into_iter().map(to_json).collect();
    let report = json!({ "request": echo, "settings": settings });
    Ok(json_output::object(StatusCode::OK, &report, wants_pretty(&parts)))
}

fn read_query(parts: &Parts) -> Result<DomainQuery, ApiError> {
    let number = |name: &str| {
        let text = parts.parameter(name);
        let number = text.as_deref().map(str::parse::<usize>).transpose();
        number.map_err(|error| ApiError::bad_request(format!("Invalid {name}: {error}")))
    };
    let limit = number("limit")?.filter(|limit| *limit > 0).unwrap_or(MAX_LISTED_SETTINGS);
    Ok(DomainQuery {
        text: parts.parameter("q").unwrap_or_default().to_lowercase(),
        offset: number("offset")?.unwrap_or(0),
        limit: Some(limit.min(MAX_LISTED_SETTINGS)),
    })
}

/// The query as the response repeats it, without what is empty or 0.
fn echo(query: &DomainQuery) -> Value {
    let mut echo = Map::new();
    if !query.text.is_empty() {
        echo.insert("q".to_owned(), json!(query.text));
    }
    if query.offset > 0 {
        echo.insert("offset".to_owned(), json!(query.offset));
    }
    echo.insert("limit".to_owned(), json!(query.limit));
    Value::Object(echo)
}

/// The JSON of settings: the domain, what is set, and header names in their usual spelling.
fn to_json(stored: StoredDomainSettings) -> Value {
    let StoredDomainSettings { domain, settings } = stored;
    let DomainSettings { sitename, fetch_client, user_agent, headers, ttl } = settings;
    let headers: Map<String, Value> =
        headers.into_iter().map(|(name, value)| (canonical_name(&name), Value::String(value))).collect();
    let fields = [
        ("domain", Some(json!(domain))),
        ("sitename", sitename.map(Value::String)),
        ("fetch_client", fetch_client.map(|method| json!(method))),
        ("user_agent", user_agent.map(Value::String)),
        ("headers", (!headers.is_empty()).then(|| Value::Object(headers))),
        ("ttl", ttl.map(|ttl| json!(ttl))),
    ];
    Value::Object(fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
}

/// The name of a header with each of its words capitalised: `X-Special`.
fn canonical_name(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        first.to_ascii_uppercase() + &rest.to_ascii_lowercase()
    };
    name.split('-').map(word).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<DomainSettings> {
        serde_json::from_str::<SettingsObject>(text).ok().map(DomainSettings::from)
    }

    #[test]
    fn settings_are_read_and_written_as_scrape_does() {
        let text = r#"{"sitename":"example","fetch_client":"chromium-headless","user_agent":"Mozilla/5.0","headers":{"x-special":"special"}}"#;
        let stored =
            StoredDomainSettings { domain: "example.com".to_owned(), settings: parsed(text).unwrap() };
        assert_eq!(
            to_json(stored).to_string(),
            r#"{"domain":"example.com","sitename":"example","fetch_client":"chromium-headless","user_agent":"Mozilla/5.0","headers":{"X-Special":"special"}}"#
        );
        for empty in [
            "{}",
            r#"{"domain":"other.example","sitename":"","user_agent":null,"headers":{},"fetch_client":"unspecified"}"#,
        ] {
            assert_eq!(parsed(empty), Some(DomainSettings::default()), "{empty}");
        }
        assert_eq!(parsed(r#"{"ttl":60}"#).unwrap().ttl, Some(60));
        for wrong in
            [r#"{"unknown":1}"#, r#"{"fetch_client":"curl"}"#, r#"{"headers":{"a":1}}"#, r#"{"ttl":-1}"#]
        {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn header_names_are_capitalised_by_words() {
        for (name, canonical) in [("x-special", "X-Special"), ("ACCEPT", "Accept"), ("-a", "-A"), ("", "")] {
            assert_eq!(canonical_name(name), canonical);
        }
    }
}
