//! Datagrams that are lost.

use std::time::Duration;

use tokio::time::timeout;

use crate::common::ends;
use crate::relay::Relay;
use crate::world::{World, soon};

/// Loses about a quarter, without a period: a flight of as many datagrams would lose the same one each time.
fn is_lost(number: usize) -> bool {
    (number as u32).wrapping_mul(0x9e37_79b1) >> 30 == 0
}

#[tokio::test]
async fn handshakes_survive_the_loss_of_every_fourth_datagram() {
    let world = World::new(&ends()).await;
    for offset in [0, 10, 20] {
        let relay = Relay::new(world.address, move |_, number, _| is_lost(number + offset)).await;
        let (client, server) = soon(world.connect_to(relay.address)).await;
        // Data is never sent again: some of it arrives.
        for number in 0..20_u8 {
            soon(client.send(&[number])).await.unwrap();
        }
        let mut arrived = Vec::new();
        while let Ok(received) = timeout(Duration::from_millis(100), server.recv()).await {
            arrived.extend_from_slice(&received.unwrap().unwrap());
        }
        assert!((10..20).contains(&arrived.len()) && arrived.is_sorted(), "{arrived:?}");
    }
}

#[tokio::test]
async fn data_that_no_task_receives_is_dropped_and_counted() {
    let world = World::new(&ends()).await;
    let (client, server) = soon(world.connect()).await;
    let data = vec![7; 1000];
    for _ in 0..400 {
        soon(client.send(&data)).await.unwrap();
        // The kernel's own buffer should not overflow.
        tokio::task::yield_now().await;
    }
    soon(async {
        while server.dropped() == 0 {
            client.send(&data).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let mut received = 0;
    while let Ok(it) = timeout(Duration::from_millis(100), server.recv()).await {
        assert_eq!(it.unwrap().unwrap().len(), 1000);
        received += 1;
    }
    assert!((100..=130).contains(&received), "{received}");
}
