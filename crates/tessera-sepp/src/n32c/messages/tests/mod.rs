//! Tests each message against the table of its members: missing, duplicated, of the wrong type, too long, unknown.

pub(crate) mod schema;

use serde_json::{Map, Value, json};

use self::schema::Member;
use super::*;

/// Runs a check for each message.
macro_rules! for_each_message {
    ($check:ident) => {
        $check::<SecNegotiateReqData>(schema::REQUEST);
        $check::<SecNegotiateRspData>(schema::ANSWER);
        $check::<SecParamExchReqData>(schema::PARAMS_REQUEST);
        $check::<SecParamExchRspData>(schema::PARAMS_ANSWER);
        $check::<N32fContextInfo>(schema::CONTEXT);
        $check::<N32fErrorInfo>(schema::ERROR);
        $check::<ExtRedirectResponse>(schema::REDIRECTION);
        $check::<ProblemDetails>(schema::PROBLEM);
    };
}

fn read<T: Message>(value: &Value) -> Result<T, MalformedMessage> {
    decode(&serde_json::to_vec(value).unwrap())
}

fn members(of: &[Member]) -> Map<String, Value> {
    schema::example(of).as_object().unwrap().clone()
}

#[test]
fn the_table_and_the_types_name_the_same_members_as_required() {
    fn check<T: Message>(table: &[Member]) {
        let required: Vec<_> =
            table.iter().filter(|member| member.required).map(|member| member.name).collect();
        assert_eq!(required, T::REQUIRED);
    }
    for_each_message!(check);
}

#[test]
fn a_message_with_all_members_or_with_the_required_ones_alone_is_read() {
    fn check<T: Message>(table: &[Member]) {
        let mut message = members(table);
        read::<T>(&message.clone().into()).unwrap();
        message.retain(|name, _| T::REQUIRED.contains(&name.as_str()));
        read::<T>(&message.into()).unwrap();
    }
    for_each_message!(check);
}

#[test]
fn a_message_is_written_as_it_was_read() {
    fn check<T: Message + serde::Serialize>(table: &[Member]) {
        let message = schema::example(table);
        let again = serde_json::to_value(read::<T>(&message).unwrap()).unwrap();
        let lower = |value: &Value| value.to_string().to_ascii_lowercase();
        let [message, again] = [&message, &again].map(lower);
        assert_eq!(serde_json::from_str::<Value>(&message).unwrap(), {
            serde_json::from_str::<Value>(&again).unwrap()
        });
    }
    for_each_message!(check);
}

#[test]
fn a_missing_member_is_named() {
    fn check<T: Message>(table: &[Member]) {
        for member in table {
            let mut message = members(table);
            message.remove(member.name);
            let result = read::<T>(&message.into());
            if member.required {
                let malformed = result.err().unwrap();
                assert_eq!(malformed.pointer, Some(format!("/{}", member.name)));
                assert_eq!(malformed.cause, Cause::MandatoryIeMissing);
            } else {
                assert!(result.is_ok(), "{}", member.name);
            }
        }
    }
    for_each_message!(check);
}

#[test]
fn a_doubled_member_is_named() {
    fn check<T: Message>(table: &[Member]) {
        for member in table {
            let text = Value::from(members(table)).to_string();
            let double = format!("{{\"{}\":{},", member.name, member.kind.example());
            let malformed = decode::<T>(text.replacen('{', &double, 1).as_bytes()).err().unwrap();
            assert_eq!(malformed.pointer, Some(format!("/{}", member.name)));
            assert_eq!(malformed.cause == Cause::MandatoryIeIncorrect, member.required);
        }
    }
    for_each_message!(check);
}

/// Returns values of each type, and nearly valid ones.
fn values() -> Vec<Value> {
    let mut values = vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!("x"),
        json!("TLS"),
        json!("1f"),
        json!("0123456789abcdef"),
        json!("0123456789abcdeg"),
        json!("+123456789abcdef"),
        json!("0123456789abcdef0"),
        json!("sepp.example.org"),
        json!("sepp.example.org."),
        json!("192.0.2.1"),
        json!("sepp"),
        json!("sepp..org"),
        json!("sepp example.org"),
        json!({}),
        json!({"mcc": "999", "mnc": "70"}),
        json!({"mcc": "999", "mnc": "070", "more": [1]}),
        json!({"mcc": "999", "mnc": "7"}),
        json!({"mcc": "999", "mnc": "0700"}),
        json!({"mcc": "99", "mnc": "70"}),
        json!({"mcc": 999, "mnc": 70}),
        json!({"mcc": "999"}),
        json!({"mcc": "999", "mnc": "70", "nid": "x"}),
        json!({"mcc": "999", "mnc": "70", "nid": null}),
        json!({"usagePurpose": "ROAMING"}),
        json!({"usagePurpose": 1}),
        json!({"usagePurpose": "ROAMING", "cause": null}),
        json!({"param": "/a"}),
        json!({"a": true}),
        json!({"a": 1}),
        json!({"n32fConnectionRelInd": "REESTABLISH"}),
    ];
    let arrays: Vec<_> = values.iter().map(|value| json!([value])).collect();
    values.extend(arrays);
    values.extend([json!([]), json!(["TLS", 1]), json!([[["TLS"]]]), json!({"a": {"a": {}}})]);
    values
}

#[test]
fn a_member_of_the_wrong_type_is_named_and_any_other_is_read() {
    fn check<T: Message>(table: &[Member]) {
        for member in table {
            for value in values() {
                // A status is read as 16 bits, which covers all HTTP statuses.
                if member.name == "status" && value == json!(u64::MAX) {
                    continue;
                }
                let mut message = members(table);
                message.insert(member.name.to_owned(), value.clone());
                let case = format!("{}: {value}", member.name);
                let Err(malformed) = read::<T>(&message.into()) else {
                    assert!(member.kind.has(&value), "{case} was read");
                    continue;
                };
                assert!(!member.kind.has(&value), "{case}: {malformed}");
                let pointer = malformed.pointer.unwrap();
                assert!(pointer.starts_with(&format!("/{}", member.name)), "{case}: {pointer}");
                let cause = if member.required {
                    Cause::MandatoryIeIncorrect
                } else {
                    Cause::OptionalIeIncorrect
                };
                assert_eq!(malformed.cause, cause, "{case}");
            }
        }
    }
    for_each_message!(check);
}

#[test]
fn ten_megabytes_are_read_or_refused_with_a_short_reason() {
    fn check<T: Message>(table: &[Member]) {
        let long = "a".repeat(10 << 20);
        for member in table {
            let text = Value::from(members(table)).to_string();
            let (name, value) = (member.name, member.kind.example().to_string());
            let with = |value: &str| format!("\"{name}\":{value}");
            let body = text.replace(&with(&value), &with(&format!("\"{long}\"")));
            assert!(body.len() > long.len(), "{name}");
            match decode::<T>(body.as_bytes()) {
                Ok(_) => assert!(member.kind.has(&json!(long)), "{name}"),
                Err(malformed) => {
                    assert!(!member.kind.has(&json!(long)), "{name}");
                    assert!(malformed.to_string().len() < 1000, "{name}");
                }
            }
        }
        let body = format!("{{\"{long}\":1,{}", &Value::from(members(table)).to_string()[1..]);
        assert!(decode::<T>(body.as_bytes()).is_ok());
    }
    for_each_message!(check);
}

#[test]
fn members_of_later_releases_and_of_vendors_are_passed_over() {
    fn check<T: Message>(table: &[Member]) {
        let mut message = members(table);
        message.insert("ofALaterRelease".to_owned(), json!([{"a": [null, 1.5]}]));
        message.insert("3GppSbiTargetApirootSupported".to_owned(), json!("misspelt"));
        read::<T>(&message.into()).unwrap();
    }
    for_each_message!(check);
}

#[test]
fn anything_but_a_json_object_is_no_message() {
    fn check<T: Message>(_: &[Member]) {
        let deep = "[".repeat(100_000);
        let nested = format!("{{\"a\":{}", "{\"a\":".repeat(100_000));
        let bodies: [&[u8]; 11] = [
            b"",
            b"{",
            b"[]",
            b"null",
            b"\"sender\"",
            b"{}{}",
            b"{} x",
            b"\xff\xfe{}",
            b"{\"sender\":\"a.example\",}",
            deep.as_bytes(),
            nested.as_bytes(),
        ];
        for body in bodies {
            let malformed = decode::<T>(body).err().unwrap();
            assert!(malformed.to_string().len() < 500, "{malformed}");
        }
    }
    for_each_message!(check);
}

#[test]
fn text_that_is_no_utf_8_is_refused() {
    let body = b"{\"n32fMessageId\":\"\xff\",\"n32fErrorType\":\"POLICY_MISMATCH\"}";
    let malformed = decode::<N32fErrorInfo>(body).unwrap_err();
    assert_eq!(malformed.cause, Cause::InvalidMsgFormat);
}

#[test]
fn no_cut_or_changed_octet_makes_it_panic() {
    fn check<T: Message>(table: &[Member]) {
        let body = serde_json::to_vec(&schema::example(table)).unwrap();
        let mut rng = fastrand::Rng::with_seed(32);
        for len in 0..body.len() {
            assert!(decode::<T>(&body[..len]).is_err());
            let mut changed = body.clone();
            changed[len] = rng.u8(..);
            let _ = decode::<T>(&changed);
            changed.splice(len..len, std::iter::repeat_with(|| rng.u8(..)).take(3));
            let _ = decode::<T>(&changed);
        }
    }
    for_each_message!(check);
}

#[test]
fn pointers_are_escaped_and_lead_into_lists() {
    let network = json!({"mcc": "999", "mnc": "70"});
    let body = json!({
        "sender": "sepp.example.org",
        "supportedSecCapabilityList": ["TLS"],
        "plmnIdList": [network, network, {"mcc": "999", "mnc": "7"}],
    });
    let malformed = read::<SecNegotiateReqData>(&body).unwrap_err();
    assert_eq!(malformed.pointer.as_deref(), Some("/plmnIdList/2"));
    let flags = json!({"ieLoc": "BODY", "ieType": "UEID", "isModifiableByIpx": {"a/b~c": 1}});
    let mapping = json!({"apiSignature": "/x", "apiMethod": "GET", "IeList": [flags]});
    let body = json!({
        "n32fContextId": "0123456789abcdef",
        "protectionPolicyInfo": {"apiIeMappingList": [mapping]},
    });
    let malformed = read::<SecParamExchReqData>(&body).unwrap_err();
    let pointer = "/protectionPolicyInfo/apiIeMappingList/0/IeList/0/isModifiableByIpx/a~1b~0c";
    assert_eq!(malformed.pointer.as_deref(), Some(pointer));
}

#[test]
fn the_order_of_members_does_not_matter() {
    let body = br#"{"supportedFeatures":"","3GppSbiTargetApiRootSupported":true,
        "supportedSecCapabilityList":["ALS","TLS"],"sender":"SEPP1.example.org"}"#;
    let message: SecNegotiateReqData = decode(body).unwrap();
    assert!(message.target_api_root_supported);
    assert_eq!(message.supported_features, Some(Features::default()));
    let [other, tls] = [SecurityCapability::Other("ALS".into()), SecurityCapability::Tls];
    assert_eq!(message.supported_sec_capability_list, [other, tls]);
    assert_eq!(message.sender.as_str(), "sepp1.example.org");
}

#[test]
fn a_problem_is_an_answer() {
    let problem = ProblemDetails::new(http::StatusCode::BAD_REQUEST)
        .with_cause(Cause::MandatoryIeMissing)
        .with_invalid_param("/sender", "missing");
    let response = problem.clone().into_response();
    assert_eq!(response.status(), 400);
    assert_eq!(response.headers()[http::header::CONTENT_TYPE], "application/problem+json");
    let body: Value = serde_json::from_slice(response.body()).unwrap();
    let expected = json!({
        "title": "Bad Request",
        "status": 400,
        "cause": "MANDATORY_IE_MISSING",
        "invalidParams": [{"param": "/sender", "reason": "missing"}],
    });
    assert_eq!(body, expected);
    assert_eq!(decode::<ProblemDetails>(response.body()).unwrap(), problem);
}

#[test]
fn a_peers_long_value_is_cut() {
    let long = "A".repeat(250_000);
    let error = json!({"n32fMessageId": "1", "n32fErrorType": long});
    let error: N32fErrorInfo = read(&error).unwrap();
    assert!(format!("{:?}", error.n32f_error_type).len() < 200);
    let answer = json!({"sender": "sepp.example", "selectedSecCapability": long});
    let answer: SecNegotiateRspData = read(&answer).unwrap();
    assert!(answer.selected_sec_capability.to_string().len() < 200);
}
