//! docs/edge.md and the code agree.

use std::path::Path;

use tessera_edge::config::{EdgeConfig, Limits, ServiceSection};
use tessera_proxy::config::Document;

const PAGE: &str = include_str!("../../../docs/edge.md");

#[test]
fn the_configuration_in_the_page_has_no_contradiction() {
    let (_, text) = PAGE.split_once("```toml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let document = Document::from_text(Path::new("edge.toml"), text.to_owned());
    let edge: EdgeConfig = document.parse().unwrap();
    edge.check().unwrap();
    assert!(edge.service["cart"].state.is_some() && edge.proxy.one_time_keys.is_some());
}

/// Returns the keys of a struct, by its `Debug`: as a configuration writes them.
fn keys(debug: &str) -> Vec<String> {
    let fields = debug.lines().filter_map(|line| {
        let field = line.strip_prefix("    ")?;
        let name = field.split(": ").next()?;
        (!field.starts_with(' ') && field.contains(": ")).then(|| name.replace('_', "-"))
    });
    fields.collect()
}

#[test]
fn every_key_is_in_the_page() {
    let (_, text) = PAGE.split_once("```toml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let edge: EdgeConfig =
        Document::from_text(Path::new("edge.toml"), text.to_owned()).parse().unwrap();
    let service: &ServiceSection = &edge.service["web"];
    for (section, debug) in [
        ("[process] ", format!("{:#?}", edge.process)),
        ("[pool] ", format!("{:#?}", edge.pool)),
        ("[proxy] ", format!("{:#?}", edge.proxy)),
        ("[peers] ", format!("{:#?}", edge.peers)),
        ("[clients] ", format!("{:#?}", edge.clients)),
        ("[service.NAME] ", format!("{service:#?}")),
        ("[limits]", format!("{:#?}", Limits::default())),
    ] {
        let rows: String =
            PAGE.lines().filter(|line| line.starts_with(&format!("| `{section}"))).collect();
        let keys = keys(&debug);
        assert!(keys.len() > 2, "{debug}");
        for key in keys {
            let is_there =
                [format!("`{key}`"), format!(" {key}`")].iter().any(|it| rows.contains(it));
            assert!(is_there, "{section}{key}");
        }
    }
}
