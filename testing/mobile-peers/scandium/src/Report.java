import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/** Lines of JSON on standard output. */
final class Report {
    /** Nanoseconds of CLOCK_MONOTONIC, which is what HotSpot reads on Linux. */
    static long now() {
        return System.nanoTime();
    }

    static synchronized void line(String object) {
        System.out.println(object);
        System.out.flush();
    }

    static void event(String name, String members) {
        line("{\"event\":\"" + name + "\",\"at\":" + now() + members + "}");
    }

    static void fail(Throwable failure) {
        StringBuilder why = new StringBuilder(failure.toString());
        for (Throwable cause = failure.getCause(); cause != null; cause = cause.getCause()) why.append(": ").append(cause);
        event("failed", ",\"why\":\"" + why.toString().replaceAll("[\"\\\\\\p{Cntrl}]", "'") + "\"");
        Runtime.getRuntime().halt(1);
    }

    static long cpuMicroseconds() {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime() / 1000;
    }
}
