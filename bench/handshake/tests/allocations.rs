//! Application records cost no allocation.

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::{ClientConfig, Destination, ReadEvent, ServerConfig};
use tessera_harness::{Pair, UnsealedTickets, at};
use tessera_null_provider::{NullSigner, NullVerifier};

fn connected() -> Pair {
    let provider = tessera_aws_lc::provider();
    let credential =
        Credential::new(vec![vec![0x30; 600]], PrivateKey::Signs(Arc::new(NullSigner)));
    let client = ClientConfig::new(provider, Arc::new(NullVerifier));
    let mut server = ServerConfig::new(provider, vec![credential]);
    server.tickets = Some(Arc::new(UnsealedTickets));
    let destination = Destination { server_name: "server.example".into(), ..Default::default() };
    let mut pair = Pair::start(&client, &server, destination, at(0)).expect("starts");
    pair.run();
    assert!(pair.to_client.complete && pair.to_server.complete);
    pair
}

#[test]
fn application_records_allocate_nothing() {
    let mut pair = connected();
    let data = [7; 16_000];
    let mut input = Vec::with_capacity(20_000);
    let mut rounds = |count| {
        for _ in 0..count {
            let written = pair.client.write(&data, &mut pair.client_output);
            assert_eq!(written, Ok(data.len()));
            input.clear();
            input.extend_from_slice(pair.client_output.as_slice());
            pair.client_output.consume(input.len());
            let progress =
                pair.server.read(pair.now, &mut input, &mut pair.server_output).expect("reads");
            assert!(
                matches!(progress.event, ReadEvent::Data(received) if input[received.clone()] == data)
            );
        }
    };
    // The first rounds let the buffers of the caller grow.
    rounds(20);
    let counted = allocation_counter::measure(|| rounds(180));
    assert_eq!(counted.count_total, 0, "allocations by 180 records: {counted:?}");
}
