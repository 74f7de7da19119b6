//! Rules that are read, and lines that are refused.

use super::*;

fn asked<'a>(from: &str, role: &'a str, database: &'a str, is_member: &'a dyn Fn(&str) -> bool) -> Asked<'a> {
    let from = from.parse().expect("an address");
    Asked { from, to: "10.0.0.9".parse().expect("an address"), encrypted: true, role, database, is_member }
}

const FILE: &str = "\
# a comment
local   all all trust_is_not_read_here
";

#[test]
fn the_first_line_that_fits_decides() {
    let rules = Rules::parse(
        "\
hostssl shop, \"all\"  ada,+clerks  10.1.0.0/16   scram-sha-256   # within the house
hostnossl all all all scram-sha-256
host sameuser all 10.2.0.0 255.255.0.0 reject
hostssl samerole \"+odd\" ::1/128 cert map=staff
hostssl all bob samehost \\
  scram-sha-256 clientcert=verify-full
",
    )
    .expect("read");
    let found = |from: &str, role: &str, database: &str, groups: &[&str]| {
        let is_member = |group: &str| groups.contains(&group);
        rules.find(&asked(from, role, database, &is_member)).and_then(|rule| rule.line)
    };
    assert_eq!(found("10.1.2.3", "ada", "shop", &[]), Some(1));
    assert_eq!(found("10.1.2.3", "eve", "all", &["clerks"]), Some(1));
    assert_eq!(found("10.1.2.3", "eve", "shop", &[]), None);
    assert_eq!(found("10.1.2.3", "ada", "other", &[]), None);
    assert_eq!(found("::ffff:10.1.2.3", "ada", "shop", &[]), Some(1), "IPv4 by way of IPv6");
    assert_eq!(found("10.2.2.3", "ada", "ada", &[]), Some(3));
    assert_eq!(found("::1", "+odd", "shop", &["shop"]), Some(4));
    assert_eq!(found("::1", "odd", "shop", &["shop", "odd"]), None, "quoted, it is no group");
    for (from, line) in [("10.0.0.9", Some(5)), ("127.0.0.1", Some(5)), ("10.0.0.8", None)] {
        assert_eq!(found(from, "bob", "any", &[]), line, "{from}");
    }
    assert!(rules.all()[1].never().is_some() && rules.all()[0].never().is_none());
    assert_eq!(rules.all()[2].address(), (Some("10.2.0.0".into()), Some("255.255.0.0".into())));
    assert_eq!(rules.all()[3].options.written(), ["map=staff", "clientcert=verify-full"]);
}

#[test]
fn a_line_that_is_not_understood_is_named() {
    let Err(bad) = Rules::parse(FILE) else { panic!("not understood") };
    assert_eq!(bad[0].to_string(), "line 2: invalid authentication method \"trust_is_not_read_here\"");
    for (line, why) in [
        ("hosts all all all reject", "invalid connection type \"hosts\""),
        ("host", "end-of-line before database specification"),
        ("host all", "end-of-line before role specification"),
        ("host all all", "end-of-line before IP address specification"),
        ("host all all 10.0.0.1", "end-of-line before netmask specification"),
        ("host all all 10.0.0.1 ::1 reject", "IP address and mask do not match"),
        ("host all all 10.0.0.1 x reject", "invalid IP mask \"x\""),
        ("host all all 10.0.0.1/33 reject", "invalid CIDR mask in address \"10.0.0.1/33\""),
        ("host all all 10.0.0/8 reject", "invalid IP address \"10.0.0/8\""),
        ("host all all ::1/-1 reject", "invalid CIDR mask in address \"::1/-1\""),
        ("host all all db.example.org reject", "host names are not supported: \"db.example.org\"; name the address"),
        ("host all all samenet reject", "\"samenet\" is not supported; name the network"),
        ("host all all all", "end-of-line before authentication method"),
        ("host,local all all all reject", "multiple values specified for connection type"),
        ("host all all all reject,reject", "multiple values specified for authentication method"),
        (
            "host all all all trust",
            "invalid authentication method \"trust\": not supported; there are scram-sha-256, cert and reject",
        ),
        ("host all all all cert", "cert authentication is only supported on hostssl connections"),
        ("hostssl all all all cert x", "authentication option not in name=value format: x"),
        ("hostssl all all all cert x=1", "unrecognized authentication option name: \"x\""),
        (
            "hostssl all all all cert clientcert=verify-ca",
            "clientcert only accepts \"verify-full\" when using \"cert\" authentication",
        ),
        ("hostssl all all all scram-sha-256 clientcert=1", "invalid value for clientcert: \"1\""),
        (
            "host all all all scram-sha-256 clientcert=verify-ca",
            "clientcert can only be configured for \"hostssl\" rows",
        ),
        (
            "hostssl all all all scram-sha-256 map=x",
            "authentication option \"map\" is only valid for authentication method cert",
        ),
        (
            "hostssl all all all reject clientcert=verify-full",
            "authentication option \"clientcert\" says nothing behind reject",
        ),
        ("host \"all all all reject", "a quotation mark is not closed"),
        ("host @names all all reject", "other files cannot be included (\"@names\"); list the names here"),
        ("host all /^a all reject", "regular expressions are not supported: \"/^a\""),
    ] {
        let Err(bad) = Rules::parse(line) else { panic!("{line} is read") };
        assert_eq!(bad, [BadLine::new(1, why)], "{line}");
    }
}

#[test]
fn whatever_bytes_a_file_has_it_is_read_or_refused() {
    let pieces = [
        "host ",
        "hostssl ",
        "all ",
        "\"",
        ",",
        "10.0.0.0/8 ",
        "::/0 ",
        "cert ",
        "reject",
        "\\\n",
        "\n",
        "#",
        "+",
        "ä",
        "=",
        "\u{0}",
    ];
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
        }
        if let Ok(rules) = Rules::parse(&text) {
            let nobody = |_: &str| false;
            rules.find(&asked("10.0.0.1", "ada", "all", &nobody));
        }
    }
}
