import java.util.Map;

import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.AlterConfigPolicy;

/** A policy of a controller (KIP-133): nobody throttles a topic whose name begins with `no-throttles`. */
public final class NoThrottles implements AlterConfigPolicy {
    @Override
    public void validate(RequestMetadata request) {
        boolean throttles = request.configs().keySet().stream().anyMatch(key -> key.contains("throttled"));
        if (throttles && request.resource().name().startsWith("no-throttles")) {
            throw new PolicyViolationException("Throttles are not for " + request.resource().name());
        }
    }

    @Override
    public void configure(Map<String, ?> configs) {}

    @Override
    public void close() {}
}
