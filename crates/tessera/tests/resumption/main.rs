//! Reconnecting over records: tickets, their keys and stores, early data that is executed once, and where a session is
//! valid.

mod early_data_offers;
mod issued_tickets;
mod kept_keys;
mod lone_identities;
mod replay;
mod scope;
mod stores;
mod without_date;
