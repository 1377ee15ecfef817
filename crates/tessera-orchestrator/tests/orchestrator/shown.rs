//! What the API shows of the pool.

use serde_json::{Value, json};
use tessera_bindings::{ClientName, PoolSettings, ProxyName};

use crate::world::{World, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_clients_are_shown_page_by_page_in_the_order_of_their_names() {
    let world = World::new().await;
    let _proxies = (world.proxy("a", "").await, world.proxy("b", "").await);
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    let names = ["x/../y?z ü\n", "a", "a b", "ab", "b&c=d", "+"];
    for name in names {
        world.bind(name, "a").await;
    }
    let bytes = ClientName::new([0xff, 0x00]).unwrap();
    world.bindings.bind(&bytes, &ProxyName("b".into())).await.unwrap();
    until("the orchestrator has them", || orchestrator.table().len() == names.len() + 1).await;
    assert_eq!(api.move_to("a", "b").await.0, 200);
    let all = api.get("/clients").await;
    let clients = all["clients"].as_array().unwrap();
    let shown: Vec<_> = clients.iter().filter_map(|it| it["client"].as_str()).collect();
    assert_eq!(shown, ["+", "a", "a b", "ab", "b&c=d", "x/../y?z ü\n"]);
    assert_eq!(clients[6]["client_hex"], "ff00");
    assert_eq!(all["after"], Value::Null);
    let of_a = &clients[1];
    assert_eq!(
        [&of_a["owner"], &of_a["next"], &of_a["state"]],
        [&json!("a"), &json!("b"), &json!("announced")]
    );
    for limit in [1, 2, 6, 7] {
        let (mut paged, mut path) = (Vec::new(), format!("/clients?limit={limit}"));
        loop {
            let page = api.get(&path).await;
            let clients = page["clients"].as_array().unwrap();
            assert!((1..=limit).contains(&clients.len()), "{page}");
            paged.extend(clients.iter().cloned());
            let Some(after) = page["after"].as_str() else { break };
            path = format!("/clients?limit={limit}&after={after}");
        }
        assert_eq!(&paged, clients, "{limit}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_differ_in_the_pool_are_shown() {
    let world = World::new().await;
    let orchestrator = world.orchestrator();
    let api = world.api(&orchestrator);
    let settings = world.configuration.pool.settings();
    let join = async |name: &str, settings: PoolSettings| {
        let proxy = world.proxy_with(name, "", true, settings).await;
        let name = ProxyName(name.into());
        until("it is known", || orchestrator.table().proxy(&name).is_some()).await;
        proxy
    };
    let _a = join("a", settings.clone().with("[clients] named-by", "cookie")).await;
    assert_eq!(api.get("/status").await["warnings"], json!([]));
    let _b = join("b", settings.with("[clients] named-by", "certificate")).await;
    let warnings = api.get("/status").await["warnings"].to_string();
    assert!(warnings.contains("named-by") && !warnings.contains("[pool]"), "{warnings}");
}
