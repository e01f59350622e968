//! Every `robots.txt` of the fixtures, with what it must mean. Each expectation was read from the file, not from the
//! program.

use crate::fixture_bytes;
use std::time::Duration;
use varve_core::robots::Robots;

/// What a file means for one robot: forbidden paths, allowed paths, and the pause in milliseconds.
type Meaning = (&'static str, &'static [&'static str], &'static [&'static str], Option<u64>);

fn expect(name: &str, meanings: &[Meaning], sitemaps: &[&str]) {
    let Some(bytes) = fixture_bytes(&format!("robots/{name}")) else { return };
    let robots = Robots::parse(&bytes);
    for (agent, forbidden, allowed, delay) in meanings {
        let rules = robots.rules_for(agent);
        let url = |path: &&str| format!("http://domain.com{path}");
        let wrongly_allowed: Vec<_> = forbidden.iter().map(url).filter(|url| rules.allows(url)).collect();
        let wrongly_forbidden: Vec<_> = allowed.iter().map(url).filter(|url| !rules.allows(url)).collect();
        assert_eq!((wrongly_allowed, wrongly_forbidden), (vec![], vec![]), "{name}: {agent}");
        assert_eq!(rules.delay(), delay.map(Duration::from_millis), "{name}: {agent}");
    }
    assert_eq!(robots.sitemaps("http://domain.com/robots.txt"), sitemaps, "{name}");
}

#[test]
fn examples_of_the_standard() {
    expect(
        "rfc9309-example-simple-robots.txt",
        &[
            (
                "other",
                &["/x.gif", "/example/", "/publications.gif"],
                &["/publications/", "/", "/x.gif?y"],
                None,
            ),
            ("foobot", &["/", "/example/x"], &["/example/page.html", "/example/allowed.gif"], None),
            ("BarBot", &["/example/page.html"], &["/x.gif", "/example/"], None),
            ("bazbot", &["/example/page.html"], &["/x.gif"], None),
            ("quxbot", &[], &["/", "/x.gif", "/example/"], None),
        ],
        &[],
    );
    expect(
        "rfc9309-example-longest-match-robots.txt",
        &[
            ("foobot", &["/example/page/disallowed.gif"], &["/example/page/", "/example/page/x"], None),
            ("other", &[], &["/example/page/disallowed.gif"], None),
        ],
        &[],
    );
    expect(
        "rfc9309-example-rule-group-merging.txt",
        &[
            ("ExampleBot", &["/foo", "/bar", "/baz"], &["/x"], None),
            ("BazBot", &["/baz"], &["/foo", "/bar"], None),
            ("other", &["/foo", "/bar"], &["/baz"], None),
        ],
        &[],
    );
}

#[test]
fn merging_and_precedence() {
    expect(
        "merge-rules.txt",
        &[
            ("testy", &["/", "/ckh/bar"], &[], None),
            ("curl", &["/x"], &[], None),
            ("wget", &["/tmp/bar"], &["/foo/bar", "/ckh/bar", "/"], None),
            ("other", &["/foo/bar", "/tmp/bar"], &["/ckh/bar", "/"], None),
        ],
        &[],
    );
    expect(
        "precedence-of-rules.txt",
        &[
            ("testy", &["/foo", "/foo/baz", "/foo/c"], &["/foo/bar", "/"], None),
            ("wget", &["/bar", "/"], &["/foo", "/index.html"], None),
            ("other", &[], &["/foo"], None),
        ],
        &[],
    );
    expect(
        "many-user-agents.txt",
        &[
            ("wget", &["/", "/x"], &[], None),
            ("OutfoxBot", &["/"], &[], None),
            ("BackDoorBot", &["/"], &[], None),
            (
                "nobody-knows-me",
                &["/bot-trap/", "/g/", "/home.php", "/lang/ar/lang/"],
                &["/", "/lang/"],
                None,
            ),
        ],
        &[],
    );
}

#[test]
fn pauses() {
    expect("astore.amazon.com-robots.txt", &[("any", &[], &["/"], Some(5000))], &[]);
    expect("dos-line-endings.txt", &[("any", &[], &["/"], Some(1000))], &[]);
    // What the comment says of `/login/` is not what the file says: only `yourbot` is named there.
    expect(
        "crawl-delay-group-merging.txt",
        &[
            ("mybot", &["/private/"], &["/login/"], Some(10_000)),
            ("yourbot", &["/private/", "/login/"], &["/"], None),
            ("other", &[], &["/private/", "/login/"], Some(30_000)),
        ],
        &[],
    );
    expect(
        "extended-standard-robots.txt",
        &[
            ("bot1", &[], &["/"], Some(2000)),
            ("bot2", &[], &["/"], Some(15_000)),
            ("bot3", &[], &["/"], Some(12_000)),
            ("bot4", &[], &["/"], Some(125)),
            ("bot5", &[], &["/"], None),
        ],
        &[],
    );
    expect(
        "twitter.com-robots.txt",
        &[
            ("Googlebot", &["/search?q=x", "/jack/with_friends"], &["/jack"], None),
            ("Slurp", &["/?x"], &["/"], Some(1000)),
            ("msnbot", &["/?x"], &["/"], Some(10_000)),
            ("other", &["/?x", "/jack/with_friends"], &["/with_friends"], None),
        ],
        &[],
    );
}

#[test]
fn extensions_do_not_disturb_the_rules() {
    expect(
        "extension-robots.txt",
        &[
            ("other", &[], &["/", "/private/", "/secret/"], None),
            ("mybot", &["/private/"], &["/secret/", "/"], Some(6000)),
            ("otherbot", &["/admin/"], &["/private/"], Some(12_000)),
        ],
        &["http://domain.com/sitemap.xml"],
    );
    expect(
        "extensions-group-merging.txt",
        &[
            ("other", &["/", "/x"], &["/llms.txt"], Some(2000)),
            // `Clean-Param` does not end the names: the second group is for both, too.
            ("mybot", &["/private/", "/login/"], &["/"], Some(6000)),
            ("yourbot", &["/private/", "/login/"], &["/"], None),
        ],
        &[],
    );
    expect(
        "www.flot.com-robots.txt",
        &[("foobot", &["/img/", "/bitrix/x", "/admin/", "/upload/"], &["/", "/img"], None)],
        &["http://flot.com/sitemap_index.xml"],
    );
}

#[test]
fn mistakes_are_read_as_they_were_meant() {
    expect(
        "directive-typos-robots.txt",
        &[
            ("bot1", &["/desallow/", "/dissalow/"], &["/useragent/"], None),
            ("bot2", &["/useragent/"], &["/desallow/"], None),
            ("bot3", &["/useg-agent/"], &["/useragent/"], None),
            ("bot4", &["/useragent-no-colon/"], &["/useg-agent/"], None),
        ],
        &[],
    );
    expect(
        "format-errors-robots.txt",
        &[
            ("bot1", &["/whitespace-before-colon/", "/no-colon/"], &["/"], None),
            ("bot2", &["/no-colon-useragent/"], &["/no-colon/"], None),
            ("bot3", &["/", "/x"], &["/whitespace-before-colon", "/whitespace-before-colon/"], None),
        ],
        &["http://domain.com/sitemap.xml"],
    );
    expect(
        "malformed-path.txt",
        &[(
            "any",
            &[
                "/wiki/Wikipedia_talk:Mediation_Committee/",
                "/wiki/Wikipedia_talk%3Mediation_Committee/",
                "/wiki/Wikipedia_talk:Mediation_Committee/x",
            ],
            &["/wiki/", "/wiki/Wikipedia_talk:Mediation"],
            None,
        )],
        &[],
    );
}

#[test]
fn encodings() {
    let forbidden = &["/login.aspx", "/register.aspx", "/profile", "/search.aspx", "/a/output/print"];
    let allowed = &["/", "/output/print"];
    for name in ["robots-with-utf8-bom.txt", "robots-with-utf16le-bom.txt", "robots-with-utf16be-bom.txt"] {
        expect(
            name,
            &[("foobot", forbidden, allowed, None), ("googlebot", forbidden, allowed, None)],
            &["http://www.newsweek.com/sitemap_index.xml"],
        );
    }
}

#[test]
fn sitemaps_are_named_once_and_as_written() {
    expect("sitemap-robots-dedup.txt", &[("any", &[], &["/"], None)], &["http://example.org/sitemap.xml"]);
    expect(
        "sitemap-robots.txt",
        &[("any", &[], &["/"], None)],
        &[
            "http://domain.com/sitemap.xml",
            "http://domain.com/dir/my-sitemap.xml",
            "http://domain.com/dir/MixedCased-sitemap.xml",
        ],
    );
    expect(
        "relative-sitemap-robots.txt",
        &[("any", &["/cache/", "/cp/x", "/docs/", "/files/"], &["/", "/files"], None)],
        &["http://domain.com/sitemap.xml"],
    );
}

#[test]
fn a_large_shop() {
    let others: Meaning = (
        "other",
        &[
            "/gp/registry/wishlist/1/reserve",
            "/wishlist/x",
            "/gp/wishlist/x",
            "/a/b/gcrnsts",
            "/exec/obidos/tg/cm/member/x",
            "/gp/cart/x",
        ],
        &[
            "/",
            "/wishlist/universal-x",
            "/gp/wishlist/ipad-install",
            "/wishlist",
            "/rss/people/x/reviews",
            "/x/sim/B001132UEE",
        ],
        None,
    );
    let google: Meaning = (
        "Googlebot",
        &["/rss/people/x/reviews", "/gp/pdp/rss/x/y/reviews", "/x/sim/B001132UEE", "/gp/aw/cr/", "/gp/cart"],
        &["/", "/wishlist/get-button-x", "/gp/aw"],
        None,
    );
    let sitemaps = [
        "http://www.amazon.com/sitemap-manual-index.xml",
        "http://www.amazon.com/sitemap_vendor_videos_us.xml",
        "http://www.amazon.com/sitemap_vod_index.xml",
        "http://www.amazon.com/sitemaps.f3053414d236e84.SitemapIndex_0.xml.gz",
        "http://www.amazon.com/sitemaps.1946f6b8171de60.SitemapIndex_0.xml.gz",
        "http://www.amazon.com/sitemaps.bbb7d657c7e29fa.SitemapIndex_0.xml.gz",
        "http://www.amazon.com/sitemaps.11aafed315ee654.SitemapIndex_0.xml.gz",
        "http://www.amazon.com/sitemaps.c21f969b5f03d33.SitemapIndex_0.xml.gz",
    ];
    expect("wildcards.txt", &[others, google, ("EtaoSpider", &["/", "/x"], &[], None)], &sitemaps);
}
