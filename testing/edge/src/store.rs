//! What is in etcd, and what ever was.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tessera_bindings::ClientName;
use tessera_test_peers::etcd::Cluster;

/// Returns all keys and values of the store, as they are now.
pub fn entries(etcd: &Cluster) -> Vec<(Vec<u8>, Vec<u8>)> {
    // From the first key to the last one.
    let all = json!({ "key": STANDARD.encode([0]), "range_end": STANDARD.encode([0]) });
    values(&etcd.ask(0, "/v3/kv/range", &all).unwrap())
}

/// Returns all bytes of the store's files: also what was overwritten and deleted.
pub fn ever_stored(etcd: &Cluster) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directories = vec![etcd.data_dir(0)];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => {
                    let file = std::fs::read(path).unwrap();
                    // Most of a preallocated file is empty.
                    let end = file.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                    bytes.extend_from_slice(&file[..end]);
                }
            }
        }
    }
    bytes
}

/// Returns the generations and owners that a client's binding ever had, in their order, each once.
pub fn owners(etcd: &Cluster, client: &ClientName) -> Vec<(u64, String)> {
    let name = client.as_bytes();
    let key = [format!("/tessera/edge/b/{}:", name.len()).as_bytes(), name].concat();
    let key = STANDARD.encode(key);
    let now = etcd.ask(0, "/v3/kv/range", &json!({ "key": key })).unwrap();
    let last = number(&now["header"]["revision"]);
    let first = now["kvs"][0]["create_revision"].as_str().map_or(last, |it| it.parse().unwrap());
    let mut owners: Vec<(u64, String)> = Vec::new();
    for revision in first..=last {
        let at = json!({ "key": key, "revision": revision });
        for (_, value) in values(&etcd.ask(0, "/v3/kv/range", &at).unwrap()) {
            let binding: Value = serde_json::from_slice(&value).unwrap();
            let owner = binding["owner"].as_str().unwrap().to_owned();
            let owner = (binding["generation"].as_u64().unwrap(), owner);
            if owners.last() != Some(&owner) {
                owners.push(owner);
            }
        }
    }
    owners
}

fn values(answer: &Value) -> Vec<(Vec<u8>, Vec<u8>)> {
    let kvs = answer["kvs"].as_array().cloned().unwrap_or_default();
    let bytes = |value: &Value| STANDARD.decode(value.as_str().unwrap_or_default()).unwrap();
    kvs.iter().map(|kv| (bytes(&kv["key"]), bytes(&kv["value"]))).collect()
}

/// The gateway writes numbers of 64 bits as text.
fn number(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}
