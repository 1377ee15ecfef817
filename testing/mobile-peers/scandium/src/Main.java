import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Scandium's DTLS 1.2 with connection IDs as a peer of `tessera lab dtls`; ../README.md has the contract. */
public final class Main {
    public static void main(String[] arguments) {
        Runnable role;
        try {
            role = parse(arguments);
        } catch (Exception refusal) {
            System.err.println("scandium-peer: " + refusal.getMessage());
            System.exit(2);
            return;
        }
        try {
            role.run();
        } catch (Exception failure) {
            Report.fail(failure);
        }
    }

    private static Runnable parse(String[] arguments) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (int i = 1; i < arguments.length; i += 2) {
            if (i + 1 == arguments.length) throw new IllegalArgumentException(arguments[i] + " has no value");
            options.put(arguments[i], arguments[i + 1]);
        }
        if (!text(options, "--arm").equals("scandium-cid"))
            throw new IllegalArgumentException("--arm: scandium-cid is this program's only one");
        String role = arguments[0];
        Runnable runnable;
        if (role.equals("server")) {
            InetSocketAddress address = address(options, "--listen");
            String certificate = text(options, "--certificate"), key = text(options, "--key");
            runnable = () -> Server.run(address, certificate, key);
        } else if (role.equals("client")) {
            Client.Options client = new Client.Options();
            client.server = address(options, "--connect");
            client.ca = text(options, "--ca");
            client.sources = sources(text(options, "--sources"));
            client.acks = number(options, "--acks");
            client.paceMs = number(options, "--pace-ms");
            client.timeoutMs = number(options, "--timeout-ms");
            client.detection = text(options, "--detection");
            client.timeouts = number(options, "--timeouts");
            client.restarts = options.containsKey("--restarts") && number(options, "--restarts") > 0;
            if (!List.of("timeout", "rtt3", "event").contains(client.detection))
                throw new IllegalArgumentException("--detection: " + client.detection);
            runnable = () -> new Client(client).run();
        } else {
            throw new IllegalArgumentException("the first argument: client or server");
        }
        for (String name : options.keySet()) throw new IllegalArgumentException(name + ": no such option");
        return runnable;
    }

    private static String text(Map<String, String> options, String name) {
        String value = options.remove(name);
        if (value == null) throw new IllegalArgumentException(name + " is missing");
        return value;
    }

    private static long number(Map<String, String> options, String name) {
        long number = Long.parseLong(text(options, name));
        if (number <= 0) throw new IllegalArgumentException(name + ": " + number);
        return number;
    }

    private static InetSocketAddress address(Map<String, String> options, String name) throws Exception {
        String value = text(options, name);
        int colon = value.lastIndexOf(':');
        if (colon < 0) throw new IllegalArgumentException(name + ": " + value);
        int port = Integer.parseInt(value.substring(colon + 1));
        return new InetSocketAddress(InetAddress.getByName(value.substring(0, colon)), port);
    }

    private static List<InetAddress> sources(String value) throws Exception {
        List<InetAddress> sources = new ArrayList<>();
        for (String source : value.split(",")) sources.add(InetAddress.getByName(source));
        return sources;
    }
}
