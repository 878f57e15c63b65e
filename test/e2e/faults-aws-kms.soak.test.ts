import { campaignTest } from "./support/fault-campaign.ts";

campaignTest("aws-kms");
campaignTest("aws-kms-https");
