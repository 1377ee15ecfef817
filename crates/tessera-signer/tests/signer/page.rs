//! docs/signer.md and the code agree.

use std::path::Path;

use tessera_proxy::config::Document;
use tessera_signer::config::{Limits, Signer};

const PAGE: &str = include_str!("../../../../docs/signer.md");

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
fn every_key_is_in_the_page_whose_configuration_has_no_contradiction() {
    let (_, text) = PAGE.split_once("```toml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let document = Document::from_text(Path::new("signer.toml"), text.to_owned());
    let signer: Signer = document.parse().unwrap();
    signer.check().unwrap();
    for (section, debug) in [
        ("[process] ", format!("{:#?}", signer.process)),
        ("[signer] ", format!("{:#?}", signer.signer)),
        ("[key.NAME] ", format!("{:#?}", signer.key["www"])),
        ("[limits] ", format!("{:#?}", Limits::default())),
    ] {
        let keys = keys(&debug);
        assert!(keys.len() > 2, "{debug}");
        for key in keys {
            let is_there =
                PAGE.lines().any(|line| line.starts_with(&format!("| `{section}{key}`")));
            assert!(is_there, "{section}{key}");
        }
    }
}

#[test]
fn every_metric_and_refusal_is_in_the_page() {
    for name in ["signatures_total", "refusals_total", "connections", "failed_connections_total"] {
        assert!(PAGE.contains(&format!("`tessera_signer_{name}`")), "{name}");
    }
    for reason in ["unknown-key", "not-allowed", "scheme", "content", "rate", "busy", "failed"] {
        assert!(PAGE.contains(&format!("`{reason}`")), "{reason}");
    }
}
