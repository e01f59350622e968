//! Both fetchers, the HTTP client and the browser, keep the contract of the seam.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

use varve_fetch::browser::{Browser, BrowserOptions};
use varve_fetch::{AddressGuard, Client, HttpClientOptions};
use varve_testkit::contract;

fn client(folder: &std::path::Path) -> Client {
    let mut options = HttpClientOptions::new(folder);
    options.guard = AddressGuard::allow_private();
    Client::new(options).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_http_client_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    contract::fetcher(&client(folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_browser_keeps_the_contract() {
    let Some(executable) = varve_testkit::chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let options = BrowserOptions::new(executable, folder.path());
    contract::fetcher(&Browser::new(client(folder.path()), options)).await;
}
