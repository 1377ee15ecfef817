//! Local functions that know nothing of a SEPP reach foreign ones by telescopic names.

use bytes::Bytes;
use http::{Method, Request};
use tessera_proxy::http::body::Body;

use crate::world::{AM_DATA, Words, World, empty, text};

const DOMAIN: &str = "sbi.5gc.mnc001.mcc001.3gppnetwork.org";

async fn world() -> World {
    world_with("[peer.visited.guard]\nhide-topology = false").await
}

async fn world_with(visited_peer: &str) -> World {
    let sbi = format!("telescopic-domain = \"{DOMAIN}\"");
    World::new(Words { visited_sbi: &sbi, visited_peer, ..Words::default() }).await
}

/// The names behind which a peer hides its functions are longer than a label.
#[tokio::test]
async fn hidden_names_are_telescopic_too() {
    let world = world_with("").await;
    let path = "/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF\
                &requester-plmn-list=%5B%7B%22mcc%22:%22001%22,%22mnc%22:%2201%22%7D%5D";
    let found = text(world.ask(empty(crate::world::request(Method::GET, path))).await).await;
    let (_, uri) = found.split_once(r#""interPlmnApiRoot":""#).unwrap();
    let root = uri.split('"').next().unwrap().strip_suffix("/x").unwrap();
    assert!(root.contains(DOMAIN), "{found}");
    let asked = Request::get(format!("{root}{AM_DATA}"));
    assert_eq!(world.ask(empty(asked)).await.status(), 200);
    let uri = world.udm.last().1;
    assert!(uri.starts_with("http://udm.5gc.mnc070.mcc999.3gppnetwork.org:8000/"), "{uri}");
}

#[tokio::test]
async fn a_mapping_is_asked_for_and_used() {
    let world = world().await;
    let path = "/nsepp-telescopic/v1/mapping?foreign-fqdn=udm.5gc.mnc070.mcc999.3gppnetwork.org";
    let asked = Request::get(format!("http://{DOMAIN}{path}"));
    let mapping = text(world.ask(empty(asked)).await).await;
    assert!(mapping.contains(r#""telescopicLabel":"udm-n999070""#), "{mapping}");
    let asked = Request::get(format!("http://udm-n999070-p8000-h.{DOMAIN}{AM_DATA}"));
    assert_eq!(world.ask(empty(asked)).await.status(), 200);
    let uri = world.udm.last().1;
    assert!(uri.starts_with("http://udm.5gc.mnc070.mcc999.3gppnetwork.org:8000/"), "{uri}");
}

#[tokio::test]
async fn discovered_names_lead_through_this_sepp() {
    let world = world().await;
    let path = "/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF\
                &requester-plmn-list=%5B%7B%22mcc%22:%22001%22,%22mnc%22:%2201%22%7D%5D";
    let asked = crate::world::request(Method::GET, path);
    let found = text(world.ask(empty(asked)).await).await;
    let name = format!(r#""fqdn":"udm-n999070.{DOMAIN}""#);
    assert!(found.contains(&name), "{found}");
    let port = world.visited.sbi_address.port();
    let uri = format!(r#""http://udm-n999070-p8000-h.{DOMAIN}:{port}/x""#);
    assert!(found.contains(&uri), "{found}");
    assert!(found.starts_with(r#"{"validityPeriod":60,"#), "{found}");
}

#[tokio::test]
async fn a_created_resource_is_found_through_this_sepp_under_its_name_there() {
    let world = world().await;
    let port = world.visited.sbi_address.port();
    let through = format!("http://udm-n999070-p8000-h.{DOMAIN}:{port}");
    let json = format!(r#"{{"monitoredResourceUris":["{through}/nudm-sdm/v2/y"]}}"#);
    let asked = crate::world::request(Method::POST, "/nudm-sdm/v2/imsi-999700000000001/created")
        .header("content-type", "application/json")
        .body(Body::full(Bytes::from(json.clone())))
        .unwrap();
    let response = world.ask(asked).await;
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers()["location"], format!("{through}/nudm-sdm/v2/x"));
    // The function saw its own name, and its answer is telescopic again.
    assert_eq!(text(response).await, json);
}
